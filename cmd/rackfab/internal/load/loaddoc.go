// Package load reads scenarios, built-in ones and files, and prints their warnings.
package load
