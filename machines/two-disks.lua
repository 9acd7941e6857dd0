-- Two disks for files that differ as much as disks do, for what happens between them: a notebook's, and a
-- stick. Otherwise the small machine.

machine "two-disks" {
	base = "small",
	about = "small, with a notebook's disk for files and a USB stick",

	disks = {
		data = {
			kind = "rotating", size = "60G",
			seek_min = "1ms", seek_max = "22ms", rotation = "11.1ms", -- 5,400 rpm
			rate = "40M",
			requests = 128, max_request = "512K",
			variation = "5%",
			source = "assumed: a disk of 2.5 inches, about 2008",
		},
		stick = {
			kind = "flash", size = "4G",
			read_latency = "500us", write_latency = "1ms",
			read_rate = "30M", write_rate = "5M",
			channels = 1, requests = 128, max_request = "120K",
			variation = "10%",
			source = "assumed: a cheap USB 2 stick; requests of 240 sectors are usb-storage's",
		},
	},
}
