/*
 * The real kernel of this machine as a target (load/target.h).
 *
 * Tasks are real processes and threads. Memory is limited by a ballast of huge pages or by a memory
 * cgroup, swap is a file or a zram device, and everything changed on the host is undone on every
 * way out, also when this program is killed.
 *
 * Settings it understands, besides sysctls ("vm.swappiness"), which are written and restored:
 *   vm.read_ahead_kb  of the disk with the scenario's files; restored, too
 *   madvise.free   lazy | throttle | dontneed: what TARGET_MADV_FREE is issued as
 *   host.thp       leave | never: transparent huge pages of the workers
 *   host.swap_dir  where the swap file goes, instead of the first suitable directory
 *   host.file_dir  the same for the scenario's files
 * All others are the simulation's; the notes list them once.
 *
 * One target may be open at a time in a process, and one per host: a lock file sees to that.
 * The request must stay valid until close(). Between open() and close() SIGINT, SIGTERM, SIGHUP and
 * SIGQUIT end the run at once and are raised again by close(), after everything is undone.
 */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include "load/target.h"

extern const struct target_ops host_target_ops;

#endif
