/*
 * Which Quire made a result. The build says so, in build/commit.h, which is included before this.
 */
#include "report/version.h"

const char quire_commit[] = QUIRE_COMMIT;
const char quire_sources[] = QUIRE_SOURCES;
