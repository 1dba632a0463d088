package workload

// Published lists the named distributions. They do not include the workloads W1 to W4
// of PCN, which no public source defines.
var Published = []struct{ Name, Source string }{
	{"websearch", "web search of DCTCP (SIGCOMM 2010), as the HPCC simulator has it (traffic_gen)"},
	{"hadoop", "Hadoop of Facebook (Roy et al., SIGCOMM 2015), as the HPCC simulator has it (traffic_gen, FbHdp)"},
	{"storage", "storage of Alibaba, HPCC simulator (traffic_gen, AliStorage2019)"},
	{"datamining", "data mining of VL2 (SIGCOMM 2009), as HKUST-SING/TrafficGenerator has it (conf)"},
}

// percent is a share of one percent.
const percent = All / 100

var published = map[string]CDF{
	"websearch": { // mean 1,711,250 bytes
		{0, 0},
		{10_000, 15 * percent},
		{20_000, 20 * percent},
		{30_000, 30 * percent},
		{50_000, 40 * percent},
		{80_000, 53 * percent},
		{200_000, 60 * percent},
		{1_000_000, 70 * percent},
		{2_000_000, 80 * percent},
		{5_000_000, 90 * percent},
		{10_000_000, 97 * percent},
		{30_000_000, All},
	},
	"hadoop": { // mean 120,421 bytes
		{0, 0},
		{100, percent},
		{200, 2 * percent},
		{300, 5 * percent},
		{350, 15 * percent},
		{400, 20 * percent},
		{500, 30 * percent},
		{600, 40 * percent},
		{700, 50 * percent},
		{1000, 60 * percent},
		{2000, 67 * percent},
		{7000, 70 * percent},
		{30_000, 72 * percent},
		{50_000, 82 * percent},
		{80_000, 87 * percent},
		{120_000, 90 * percent},
		{300_000, 95 * percent},
		{1_000_000, 975 * percent / 10},
		{2_000_000, 99 * percent},
		{10_000_000, All},
	},
	"storage": { // mean 40,870 bytes
		{0, 0},
		{4000, 2293 * percent / 100},
		{8000, 6921 * percent / 100},
		{16_000, 8061 * percent / 100},
		{32_000, 9047 * percent / 100},
		{64_000, 9353 * percent / 100},
		{128_000, 9677 * percent / 100},
		{256_000, 9753 * percent / 100},
		{2_000_000, All},
	},
	"datamining": { // mean 12.66 MB
		{0, 0},
		{180, 10 * percent},
		{216, 20 * percent},
		{560, 30 * percent},
		{900, 40 * percent},
		{1100, 50 * percent},
		{1870, 60 * percent},
		{3160, 70 * percent},
		{10_000, 80 * percent},
		{400_000, 90 * percent},
		{3_160_000, 95 * percent},
		{100_000_000, 98 * percent},
		{1_000_000_000, All},
	},
}

// Find returns the published distribution of that name, or nil if there is none.
func Find(name string) CDF { return published[name] }
