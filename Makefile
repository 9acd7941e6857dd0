# Quire's build. GNU make, no configure step.
#
#   make                 build/quire
#   make demo            set up, build, and reproduce the first mail's experiment
#   make test            every test; T=page_alloc runs one, SEED=0x2a chooses its seed
#   make check           what a reviewer would have to say otherwise (tools/check-*)
#   make bench           measure Quire itself: build/bench.json
#   make deps            install what is missing (Debian, Ubuntu)
#   make install         PREFIX=/usr/local, DESTDIR=
#   make clean
#
# Variables: CC=gcc|clang  DEBUG_VM=0|1|2  SAN=address,undefined  OPT=-O0  WERROR=1
#            BUILD=build (variants go to directories below it)  V=1 (show commands)

CC := $(if $(filter default,$(origin CC)),gcc,$(CC))
DEBUG_VM ?= 1
SAN ?=
OPT ?= -O2
BUILD ?= build
PREFIX ?= /usr/local
PKG_CONFIG ?= pkg-config

# All cores. A -j on the command line wins over this; a make below this one shares its cores.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 1)
endif
MAKEFLAGS += --no-builtin-rules

# ---- variants: objects made with different flags never meet ----

comma := ,
variant := $(if $(filter-out gcc,$(CC)),-$(notdir $(CC)))$(if $(SAN),-$(subst $(comma),-,$(SAN)))
variant := $(variant)$(if $(filter-out 1,$(DEBUG_VM)),-vm$(DEBUG_VM))$(if $(filter-out -O2,$(OPT)),$(OPT))
B := $(BUILD)$(patsubst -%,/%,$(variant))

# ---- sources ----

folders := $(patsubst %/,%,$(wildcard $(addsuffix /,lib world core sim load report host cli)))
srcs = $(wildcard $(1)/*.c $(1)/*.S)
objs = $(patsubst %,$(B)/%.o,$(basename $(call srcs,$(1))))
archives := $(foreach f,$(folders),$(if $(call srcs,$(f)),$(B)/lib$(f).a))

all_objs := $(foreach f,$(folders),$(call objs,$(f)))
test_srcs := $(wildcard tests/*/test_*.c)
tests := $(patsubst %.c,$(B)/%,$(test_srcs))
bench_srcs := $(wildcard tests/bench/*.c)
benches := $(patsubst %.c,$(B)/%,$(filter-out %/test_%,$(bench_srcs)))
quire := $(if $(wildcard cli/*.c),$(B)/quire)

# ---- flags ----

libs := lua5.4 jansson
lib_cflags := $(shell $(PKG_CONFIG) --cflags $(libs) 2>/dev/null)
lib_ldlibs := $(shell $(PKG_CONFIG) --libs $(libs) 2>/dev/null) -lm
test_ldlibs := $(shell $(PKG_CONFIG) --libs cmocka 2>/dev/null)

# -ffp-contract=off and -fno-strict-aliasing: gcc and clang, -O0 and -O2 print the same bytes.
# -ftls-model=local-exec: the running CPU is found in one instruction, as nothing here is a library.
QUIRE_CFLAGS := -std=gnu11 -Wall -Wextra $(if $(filter 1,$(WERROR)),-Werror) $(OPT) -g \
	-ffp-contract=off -fno-strict-aliasing -ftls-model=local-exec -ffile-prefix-map=$(CURDIR)=. \
	$(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
QUIRE_CPPFLAGS := -I. -D_GNU_SOURCE -DDEBUG_VM=$(DEBUG_VM) $(lib_cflags) -MMD -MP
QUIRE_LDFLAGS := $(if $(SAN),-fsanitize=$(SAN))

compile = $(CC) $(QUIRE_CPPFLAGS) $(CPPFLAGS) $(QUIRE_CFLAGS) $(CFLAGS)
link = $(CC) $(QUIRE_CFLAGS) $(CFLAGS) $(QUIRE_LDFLAGS) $(LDFLAGS)

Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@$(if $(findstring s,$(firstword -$(MAKEFLAGS))),:,printf) '  %-5s %s\n' $(1) $(2);)

# ---- targets for people ----

.PHONY: all demo test run-tests check bench run-bench deps install clean tests benches
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:

all: $(archives) $(quire)

tests: $(tests)

benches: $(benches)

demo:
	$(Q)tools/deps.sh
	$(Q)$(MAKE) --no-print-directory all
	$(Q)$(B)/quire reproduce madv-free --seeds 3

# Set-up comes first and in its own make, since this one has already asked pkg-config.
test:
	$(Q)tools/deps.sh
	$(Q)$(MAKE) --no-print-directory run-tests

# With T=name only that test is built, so that it runs while its neighbours do not compile.
wanted := $(if $(T),$(filter %/test_$(T),$(tests)),$(tests))

run-tests: $(wanted) $(if $(T),,$(archives) $(quire))
	$(Q)QUIRE_BUILD='$(B)' T='$(T)' SEED='$(SEED)' tools/run-tests.sh $(wanted)

check:
	$(Q)tools/deps.sh check
	$(Q)tools/check-all.sh

bench:
	$(Q)$(MAKE) --no-print-directory DEBUG_VM=0 OPT=-O2 run-bench

run-bench: $(benches) $(archives) $(quire)
	$(Q)QUIRE_BUILD='$(B)' tools/bench.sh $(BUILD)/bench.json $(benches)

deps:
	$(Q)tools/deps.sh

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/quire
	install -m 755 $(B)/quire $(DESTDIR)$(PREFIX)/bin/quire
	for d in $(wildcard scenarios machines); do \
		cp -r $$d $(DESTDIR)$(PREFIX)/share/quire/; done
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	tools/make-man $(B)/quire >$(DESTDIR)$(PREFIX)/share/man/man1/quire.1
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	install -m 644 tools/completion.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/quire

clean:
	rm -rf $(BUILD)

# ---- rules ----

# Rebuild what was made with other flags than these.
flags_now := $(compile) $(link) $(lib_ldlibs) $(test_ldlibs)
flags_now := $(filter-out -Werror,$(flags_now))
ifneq ($(file <$(B)/flags),$(flags_now))
$(shell mkdir -p $(B))
$(file >$(B)/flags,$(flags_now))
endif

$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)$(compile) -c -o $@ $<

$(B)/%.o: %.S $(B)/flags
	@mkdir -p $(@D)
	$(call say,AS,$@)$(compile) -c -o $@ $<

# Which Quire made a result: the commit, and a hash of the sources, which an edit changes too.
commit_now := $(shell git describe --always --abbrev=12 --exclude='*' 2>/dev/null || echo unknown)
sources_now := $(shell cat $(sort $(wildcard $(foreach f,$(folders),$(f)/*.[chS]))) | \
	sha256sum | cut -c1-16)
define commit_text
#define QUIRE_COMMIT "$(commit_now)"
#define QUIRE_SOURCES "$(sources_now)"
endef
ifneq ($(file <$(B)/commit.h),$(commit_text))
$(file >$(B)/commit.h,$(commit_text))
endif

$(B)/report/version.o: CPPFLAGS += -include $(B)/commit.h
$(B)/report/version.o: $(B)/commit.h

define archive_rule
$(B)/lib$(1).a: $(call objs,$(1))
	$$(call say,AR,$$@)rm -f $$@ && ar rcsD $$@ $$(filter %.o,$$^)
endef
$(foreach f,$(folders),$(if $(call srcs,$(f)),$(eval $(call archive_rule,$(f)))))

# Objects that left a folder leave its archive too.
define folder_list
ifneq ($$(file <$(B)/lib$(1).list),$(call objs,$(1)))
$$(file >$(B)/lib$(1).list,$(call objs,$(1)))
endif
$(B)/lib$(1).a: $(B)/lib$(1).list
endef
$(foreach f,$(folders),$(if $(call srcs,$(f)),$(eval $(call folder_list,$(f)))))

$(B)/quire: $(all_objs)
	$(call say,LD,$@)$(link) -o $@ $(all_objs) $(lib_ldlibs)

# What the tests of a folder may need. Tests of other folders get everything.
needs_lib := lib
needs_world := world sim lib
needs_core := core world lib
needs_sim := sim world lib
needs_host := host core sim world lib
test_archives = $(foreach f,$(or $(needs_$(1)),$(folders)),$(filter $(B)/lib$(f).a,$(archives)))

define test_rule
$(filter $(B)/tests/$(1)/%,$(tests) $(benches)): %: %.o $(call test_archives,$(1))
	$$(call say,LD,$$@)$$(link) -o $$@ $$< -Wl,--start-group $$(filter %.a,$$^) -Wl,--end-group \
		$$(lib_ldlibs) $$(test_ldlibs)
endef
$(foreach d,$(sort $(patsubst tests/%/,%,$(dir $(test_srcs) $(bench_srcs)))),$(eval $(call test_rule,$(d))))

-include $(all_objs:.o=.d) $(tests:=.d) $(benches:=.d)
