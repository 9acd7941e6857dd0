/*
 * Knobs: presets are complete, and setting by name gives the value or says what is wrong.
 */
#include "tests/test.h"

#include "core/knobs.c"
#include "core/presets.c"

static struct knobs preset(const char *name)
{
	struct knobs k;

	memset(&k, 0xa5, sizeof(k));
	assert_int_equal(knobs_preset(&k, name), 0);
	return k;
}

TEST(a_preset_sets_every_knob)
{
	for (u32 p = 0; knob_preset_name(p); p++) {
		struct knobs k = preset(knob_preset_name(p));

		for (u32 i = 0; i < knob_count(); i++)
			assert_int_equal(knob_read(&k, knob_at(i)),
			                 knob_preset_value(knob_at(i), p));
	}
	assert_null(knob_at(knob_count()));
}

TEST(the_columns_of_the_table_are_presets)
{
	struct knobs s = preset("4.0");
	struct knobs t = preset("6.18");

	for (u32 i = 0; i < knob_count(); i++) {
		assert_int_equal(knob_read(&s, knob_at(i)), knob_at(i)->column[0]);
		assert_int_equal(knob_read(&t, knob_at(i)), knob_at(i)->column[1]);
	}
}

TEST(presets_are_listed_by_age_and_say_only_what_differs_from_their_base)
{
	u32 nr_bases;

	for (u32 p = 0; p < ARRAY_SIZE(presets); p++) {
		const struct preset *base = presets[p].base ? preset_find(presets[p].base) : NULL;

		if (p) {
			int a[3] = {0}, b[3] = {0};

			sscanf(presets[p - 1].name, "%d.%d.%d", &a[0], &a[1], &a[2]);
			sscanf(presets[p].name, "%d.%d.%d", &b[0], &b[1], &b[2]);
			assert_true(a[0] != b[0]   ? a[0] < b[0]
			            : a[1] != b[1] ? a[1] < b[1]
			                           : a[2] < b[2]);
		}
		for (const struct preset_value *v = presets[p].set; v->knob; v++) {
			const struct knob_info *info = knob_find(v->knob);

			if (!info)
				fail_msg("preset %s sets %s, which is no knob", presets[p].name,
				         v->knob);
			assert_non_null(base);
			assert_int_not_equal(v->value,
			                     knob_preset_value(info, (u32)(base - presets)));
		}
		/* A chain of bases ends at a column. */
		nr_bases = 0;
		while (base) {
			assert_true(++nr_bases < ARRAY_SIZE(presets));
			base = base->base ? preset_find(base->base) : NULL;
		}
	}
}

TEST(presets_hold_what_their_kernels_did)
{
	struct knobs s = preset("4.0");
	struct knobs t = preset("6.18");

	assert_int_equal(s.lru_per, LRU_PER_ZONE);
	assert_int_equal(t.lru_per, LRU_PER_NODE);
	assert_int_equal(s.lru_anon, LRU_ANON_ACTIVE);
	assert_int_equal(t.lru_anon, LRU_ANON_INACTIVE);
	assert_int_equal(s.watermark_boost_factor, 0);
	assert_int_equal(t.watermark_boost_factor, 15000);
	assert_int_equal(s.swappiness, 60);
	assert_int_equal(s.lowmem_reserve_dma32, 256);
	assert_int_equal(s.free_list, FREE_LIST_STAY);
	assert_int_equal(t.free_list, FREE_LIST_INACTIVE_FILE);
}

TEST(an_unknown_preset_is_refused_and_changes_nothing)
{
	struct knobs k = preset("4.0");
	struct knobs before = k;

	assert_int_equal(knobs_preset(&k, "5.4"), -EINVAL);
	assert_memory_equal(&k, &before, sizeof(k));
}

TEST(every_row_is_complete_and_its_presets_are_allowed)
{
	for (u32 i = 0; i < knob_count(); i++) {
		const struct knob_info *info = knob_at(i);

		assert_true(info->name[0] && info->origin[0] && info->doc[0]);
		assert_true(info->min <= info->max);
		for (u32 p = 0; knob_preset_name(p); p++)
			assert_in_range(knob_preset_value(info, p), info->min, info->max);
		for (u32 j = 0; j < i; j++)
			assert_string_not_equal(info->name, knob_at(j)->name);
	}
}

TEST(every_value_can_be_set_and_reads_back_alone)
{
	char text[64];
	char err[200];

	for (u32 i = 0; i < knob_count(); i++) {
		const struct knob_info *info = knob_at(i);
		u32 n = info->nr_values ? info->nr_values : 2;

		for (u32 v = 0; v < n; v++) {
			struct knobs k = preset("4.0");
			struct knobs want = k;
			u64 value = info->nr_values ? v : v ? info->max : info->min;

			knob_write(&want, info, value);
			if (info->nr_values)
				snprintf(text, sizeof(text), "%s", info->value[v]);
			else
				snprintf(text, sizeof(text), "%lu", value);
			assert_int_equal(knob_set(&k, info->name, text, err, sizeof(err)), 0);
			assert_memory_equal(&k, &want, sizeof(k));
			knob_get(&k, info, err, sizeof(err));
			assert_string_equal(err, text);
		}
	}
}

static void check_refused(const char *name, const char *value, int ret, const char *says)
{
	struct knobs k = preset("6.18");
	struct knobs before = k;
	char err[300] = "";

	assert_int_equal(knob_set(&k, name, value, err, sizeof(err)), ret);
	assert_memory_equal(&k, &before, sizeof(k));
	if (!strstr(err, says))
		fail_msg("'%s' does not contain '%s'", err, says);
}

TEST(misspelt_names_and_values_are_corrected)
{
	check_refused("vm.swapiness", "10", -ENOENT, "did you mean 'vm.swappiness'?");
	check_refused("xyzzy", "10", -ENOENT, "there is no knob 'xyzzy'");
	check_refused("madvise.free", "lasy", -EINVAL,
	              "expected 'lazy', 'throttle' or 'dontneed'; did you mean 'lazy'?");
	check_refused("madvise.free", "never mind", -EINVAL, "'throttle' or 'dontneed'");
	check_refused("vm.swappiness", "201", -EINVAL, "a whole number from 0 to 200");
	check_refused("vm.swappiness", "-1", -EINVAL, "a whole number from 0 to 200");
	check_refused("vm.swappiness", "6O", -EINVAL, "a whole number from 0 to 200");
	check_refused("vm.swappiness", "", -EINVAL, "a whole number");
	check_refused("vm.min_free_kbytes", "99999999999999999999", -EINVAL, "in kB");
}

TEST(a_short_buffer_is_not_overrun)
{
	struct knobs k = preset("6.18");
	char err[8] = "aaaaaaa";

	assert_int_equal(knob_set(&k, "madvise.free", "lasy", err, 5), -EINVAL);
	assert_string_equal(err, "madv");
	assert_string_equal(err + 5, "aa");
}

TEST_MAIN("knobs")
