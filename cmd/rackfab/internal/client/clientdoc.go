// Package client connects commands to a rack's controller and to a collector: flags,
// certificates, and errors reworded for users.
package client
