/*
 * Files of a scenario: the word that declares them, and what a task does with them.
 *
 *   local data = file "data" { size = "1G", count = 4 }
 *   local log = file "log" { size = 0, disk = "stick" }  on that disk of the machine
 *   local pool = shm "pool" { size = "256M" }          shared memory: a file on a tmpfs
 *
 * Files exist when the run begins; data[i] is one of them. A task opens it, or maps it at once.
 */
#include "load/script.h"

#include <errno.h>
#include <string.h>

#define FILE_SET "file"       /* what file "name" { ... } gives */
#define OPEN_FILE "open file" /* what t:open() gives */
#define PAGE 4096UL

/* One kind of files, or one of them: @nr is 1. */
struct file_set {
	u32 first; /* number of the first file */
	u32 nr;
	u64 size;
};

struct open_file {
	u32 fd;
	u64 size;
	bool closed;
};

/* ---- declaring ---- */

struct files_reading {
	struct target_files f;
	char *disk;
};

#define FILES(member) offsetof(struct files_reading, member)
static const struct field file_fields[] = {
	{"size", FIELD_SIZE, FILES(f.size_bytes), 0, 1L << 53, NULL},
	{"sparse", FIELD_BOOL, FILES(f.sparse), 0, 0, NULL},
	{"count", FIELD_COUNT, FILES(f.nr), 1, TARGET_FILES_MAX, NULL},
	{"disk", FIELD_TEXT, FILES(disk), 0, 0, NULL},
};

static const struct field shm_fields[] = {
	{"size", FIELD_SIZE, FILES(f.size_bytes), 0, 1L << 53, NULL},
	{"count", FIELD_COUNT, FILES(f.nr), 1, TARGET_FILES_MAX, NULL},
};

struct disk_list {
	u32 nr;
	u32 number[HW_MAX_DISKS]; /* in hw->disk[] */
	const struct hw_machine *hw;
};

static const char *disk_name_at(void *arg, size_t i)
{
	const struct disk_list *list = arg;

	return list->hw->disk[list->number[i]].name;
}

/* 1 + the number of the machine's disk called @name, which holds files. */
static u32 find_disk(const struct field_table *t, const struct hw_machine *hw, const char *name)
{
	struct disk_list list = {.hw = hw};

	if (!hw)
		field_error(t, "disk", "the machine comes before files that name a disk of it");
	for (u32 i = 0; i < hw->nr_disks; i++) {
		if (!hw->disk[i].files)
			continue;
		if (strcmp(hw->disk[i].name, name) == 0)
			return i + 1;
		list.number[list.nr++] = i;
	}
	if (!list.nr)
		field_error(t, "disk", "machine %s has no disk for files", hw->name);
	field_unknown(t, "disk", "disk for files", name, disk_name_at, &list, list.nr);
}

static void push_file_set(lua_State *L, u32 first, u32 nr, u64 size)
{
	struct file_set *set = lua_newuserdatauv(L, sizeof(*set), 0);

	*set = (struct file_set){.first = first, .nr = nr, .size = size};
	luaL_setmetatable(L, FILE_SET);
}

static void declare_files(lua_State *L, const char *name, bool shm)
{
	struct scenario *s = script_of(L)->s;
	char *what = keep_printf(&s->keep, "%s \"%s\"", shm ? "shm" : "file", name);
	struct field_table t = script_table(L, 1, what);
	struct files_reading r = {.f = {.nr = 1, .shm = shm}};
	u64 nr = 0;
	u64 given;

	script_clear_pending(L);
	for (u32 i = 0; i < s->nr_files; i++) {
		if (strcmp(s->files[i].name, name) == 0)
			sandbox_error(L, "a file '%s' is declared already", name);
		nr += s->files[i].nr;
	}
	given = shm ? fields_read(&t, shm_fields, ARRAY_SIZE(shm_fields), &r)
	            : fields_read(&t, file_fields, ARRAY_SIZE(file_fields), &r);
	if (!(given & 1))
		field_error(&t, NULL, "needs a size");
	if (nr + r.f.nr > TARGET_FILES_MAX)
		field_error(&t, "count", "more than %d files", TARGET_FILES_MAX);
	if (r.disk)
		r.f.disk = find_disk(&t, s->hw, r.disk);
	strcpy(r.f.name, name); /* of a length that was checked */
	*keep_push(&s->keep, s->files, s->nr_files) = r.f;
}

/* The kind called @name, declared when the file was read. */
static void push_declared(lua_State *L, const struct scenario *s, const char *name)
{
	u32 first = 0;

	for (u32 i = 0; i < s->nr_files; first += s->files[i++].nr) {
		if (strcmp(s->files[i].name, name) == 0) {
			push_file_set(L, first, s->files[i].nr, s->files[i].size_bytes);
			return;
		}
	}
	sandbox_error(L, "file '%s' was not declared when the file was first read", name);
}

/* file "name" { ... }, second call. */
static int file_body(lua_State *L)
{
	const char *name = lua_tostring(L, lua_upvalueindex(1));
	struct script *sc = script_of(L);

	lua_settop(L, 1);
	if (sc->declaring)
		declare_files(L, name, lua_toboolean(L, lua_upvalueindex(2)));
	push_declared(L, sc->declaring ? sc->s : sc->program, name);
	return 1;
}

static int word(lua_State *L, const char *kind, bool shm)
{
	const char *name = script_check_name(L, kind);

	if (script_of(L)->declaring)
		script_set_pending(L, kind, name, "{ size = ... }");
	lua_pushboolean(L, shm);
	lua_pushcclosure(L, file_body, 2);
	return 1;
}

static int word_file(lua_State *L)
{
	return word(L, "file", false);
}

/* shm "name" { ... }: the same on a tmpfs. */
static int word_shm(lua_State *L)
{
	return word(L, "shm", true);
}

/* data[i] */
static int file_set_index(lua_State *L)
{
	struct file_set *set = script_check_object(L, FILE_SET, "file");
	int is_number;
	lua_Integer i = lua_tointegerx(L, 2, &is_number);

	if (!is_number) {
		if (lua_type(L, 2) == LUA_TSTRING && strcmp(lua_tostring(L, 2), "size") == 0) {
			lua_pushinteger(L, (lua_Integer)set->size);
			return 1;
		}
		sandbox_error(L, "a file has a 'size', and files are counted from 0: data[0]");
	}
	if (i < 0 || i >= set->nr)
		sandbox_error(L, "there are %d of these files, [0] to [%d]", (int)set->nr,
		              (int)set->nr - 1);
	push_file_set(L, set->first + (u32)i, 1, set->size);
	return 1;
}

/* ---- opening and mapping ---- */

static const struct target_ops *file_ops(lua_State *L, const char *what)
{
	const struct target_ops *ops = script_of(L)->ops;

	if (!ops->file_open)
		sandbox_error(L, "%s: this target has no files", what);
	return ops;
}

bool script_is_file(lua_State *L, int arg)
{
	return luaL_testudata(L, arg, FILE_SET) != NULL;
}

int script_task_open(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	struct file_set *set = luaL_testudata(L, 2, FILE_SET);
	struct open_file *f;

	script_check_object(L, SCRIPT_TASK, "open");
	if (!set)
		sandbox_error(L, "open: expected a file");
	f = lua_newuserdatauv(L, sizeof(*f), 0);
	*f = (struct open_file){.size = set->size, .closed = true};
	luaL_setmetatable(L, OPEN_FILE);
	script_end_call(L, "open", file_ops(L, "open")->file_open(sc->task, set->first, &f->fd));
	f->closed = false;
	return 1;
}

struct map_options {
	u64 offset;
	u64 size;
	u32 prot;
	bool shared;
};

static struct map_options map_options(lua_State *L, int arg, u64 file_size)
{
	static const char *const prot_names[] = {"none", "r", "rw", "rx", NULL};
	static const int prot_bits[] = {0, TARGET_PROT_READ, TARGET_PROT_READ | TARGET_PROT_WRITE,
	                                TARGET_PROT_READ | TARGET_PROT_EXEC};
	static const struct field fields[] = {
		{"offset", FIELD_SIZE, offsetof(struct map_options, offset), 0, 0, NULL},
		{"size", FIELD_SIZE, offsetof(struct map_options, size), 1, 0, NULL},
		{"prot", FIELD_CHOICE, offsetof(struct map_options, prot), 0, 0, prot_names},
		{"shared", FIELD_BOOL, offsetof(struct map_options, shared), 0, 0, NULL},
	};
	struct map_options opt = {.prot = 1, .shared = true};

	if (!lua_isnoneornil(L, arg)) {
		struct field_table t = {.L = L, .index = arg, .what = "mmap"};

		luaL_checktype(L, arg, LUA_TTABLE);
		fields_read(&t, fields, ARRAY_SIZE(fields), &opt);
	}
	if (!IS_ALIGNED(opt.offset, PAGE))
		sandbox_error(L, "mmap: the offset must be a multiple of 4K");
	if (!opt.size) {
		if (opt.offset >= file_size)
			sandbox_error(L, "mmap: the offset is behind the end of the file");
		opt.size = file_size - opt.offset;
	}
	opt.size = ALIGN(opt.size, PAGE);
	opt.prot = (u32)prot_bits[opt.prot];
	return opt;
}

static int mmap_fd(lua_State *L, u32 fd, const struct map_options *opt, u64 *va)
{
	struct script *sc = script_of(L);

	return file_ops(L, "mmap")->file_mmap(sc->task, fd, opt->offset, opt->size, (int)opt->prot,
	                                      opt->shared ? TARGET_MAP_SHARED : TARGET_MAP_PRIVATE,
	                                      va);
}

/* t:mmap(file [, options]): the descriptor is closed as soon as it is mapped. */
int script_mmap_file(lua_State *L)
{
	struct script *sc = script_of(L);
	const struct target_ops *ops = file_ops(L, "mmap");
	const struct file_set *set = luaL_testudata(L, 2, FILE_SET);
	struct map_options opt = map_options(L, 3, set->size);
	u64 va = 0;
	u32 fd = 0;
	int result;

	script_end_call(L, "mmap", ops->file_open(sc->task, set->first, &fd));
	result = mmap_fd(L, fd, &opt, &va);
	ops->file_close(sc->task, fd);
	script_end_call(L, "mmap", result);
	script_push_region(L, va, opt.size);
	return 1;
}

static struct open_file *check_open(lua_State *L, const char *what)
{
	struct open_file *f = script_check_object(L, OPEN_FILE, what);

	if (f->closed)
		sandbox_error(L, "%s: this file has been closed", what);
	return f;
}

static int open_mmap(lua_State *L)
{
	struct open_file *f;
	struct map_options opt;
	u64 va = 0;

	script_begin_call(L);
	f = check_open(L, "mmap");
	opt = map_options(L, 2, f->size);
	script_end_call(L, "mmap", mmap_fd(L, f->fd, &opt, &va));
	script_push_region(L, va, opt.size);
	return 1;
}

/* f:pread(offset, length [, block]) and pwrite: in calls of @block bytes (64K), as programs do it.
 * The number of bytes, which is less at the end of the file, or where the disk fails. */
static int transfer(lua_State *L, const char *what, bool write)
{
	struct script *sc = script_begin_call(L);
	struct open_file *f = check_open(L, what);
	u64 offset = script_check_size(L, 2, what);
	u64 len = script_check_size(L, 3, what);
	u64 block = lua_isnoneornil(L, 4) ? 64 << 10 : script_check_size(L, 4, what);
	u64 total = 0;

	if (!block)
		sandbox_error(L, "%s: blocks of 0 bytes", what);
	while (len) {
		u64 want = len < block ? len : block;
		u64 done = 0;
		int result;

		result = write ? sc->ops->file_write(sc->task, f->fd, offset, want, &done)
		               : sc->ops->file_read(sc->task, f->fd, offset, want, &done);
		if (result && total && result != -EINTR)
			break;
		script_end_call(L, what, result);
		total += done;
		offset += done;
		len -= want;
		if (done < want)
			break;
	}
	if (write && offset > f->size)
		f->size = offset;
	lua_pushinteger(L, (lua_Integer)total);
	return 1;
}

static int open_pread(lua_State *L)
{
	return transfer(L, "pread", false);
}

static int open_pwrite(lua_State *L)
{
	return transfer(L, "pwrite", true);
}

static int open_fsync(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	struct open_file *f = check_open(L, "fsync");

	script_end_call(L, "fsync", sc->ops->file_fsync(sc->task, f->fd));
	return 0;
}

static int open_truncate(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	struct open_file *f = check_open(L, "truncate");
	u64 size = script_check_size(L, 2, "truncate");

	script_end_call(L, "truncate", sc->ops->file_truncate(sc->task, f->fd, size));
	f->size = size;
	return 0;
}

static int open_fadvise(lua_State *L)
{
	static const char *const names[] = {
		[TARGET_FADV_NORMAL] = "normal",         [TARGET_FADV_RANDOM] = "random",
		[TARGET_FADV_SEQUENTIAL] = "sequential", [TARGET_FADV_WILLNEED] = "willneed",
		[TARGET_FADV_DONTNEED] = "dontneed",     NULL};
	struct script *sc = script_begin_call(L);
	struct open_file *f = check_open(L, "fadvise");
	u32 advice = script_check_choice(L, 2, "fadvise", "advice", names);
	u64 offset = lua_isnoneornil(L, 3) ? 0 : script_check_size(L, 3, "fadvise");
	u64 len = lua_isnoneornil(L, 4) ? 0 : script_check_size(L, 4, "fadvise");

	script_end_call(
		L, "fadvise",
		sc->ops->file_advise(sc->task, f->fd, offset, len, (enum target_fadvice)advice));
	return 0;
}

/* t:temporary(): an empty file, open, which is gone when it is closed. */
int script_task_temporary(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	struct open_file *f;

	script_check_object(L, SCRIPT_TASK, "temporary");
	f = lua_newuserdatauv(L, sizeof(*f), 0);
	*f = (struct open_file){.closed = true};
	luaL_setmetatable(L, OPEN_FILE);
	script_end_call(L, "temporary", file_ops(L, "temporary")->file_temporary(sc->task, &f->fd));
	f->closed = false;
	return 1;
}

int script_task_sync(lua_State *L)
{
	struct script *sc = script_begin_call(L);

	script_check_object(L, SCRIPT_TASK, "sync");
	script_end_call(L, "sync", file_ops(L, "sync")->sync(sc->task));
	return 0;
}

static int open_close(lua_State *L)
{
	struct script *sc = script_begin_call(L);
	struct open_file *f = check_open(L, "close");

	f->closed = true;
	script_end_call(L, "close", sc->ops->file_close(sc->task, f->fd));
	return 0;
}

static int open_index(lua_State *L)
{
	return script_lookup(L, NULL);
}

void script_open_files(lua_State *L)
{
	static const luaL_Reg none[] = {{NULL, NULL}};
	static const luaL_Reg open[] = {
		{"close", open_close},       {"fadvise", open_fadvise},
		{"fsync", open_fsync},       {"mmap", open_mmap},
		{"pread", open_pread},       {"pwrite", open_pwrite},
		{"truncate", open_truncate}, {NULL, NULL},
	};

	script_add_object(L, FILE_SET, none, file_set_index);
	script_add_object(L, OPEN_FILE, open, open_index);
	lua_register(L, "file", word_file);
	lua_register(L, "shm", word_shm);
}
