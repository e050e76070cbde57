/* SPDX-License-Identifier: Apache-2.0 */
/* Schedulers' variables for job arrays: as each scheduler sets them, incomplete, out of range, and
 * two schedulers at once. */
#include "job_arrays.h"

#include "error.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

/* `user` is a NULL-terminated list of "NAME=value". */
static const char *look_up(const void *user, const char *name)
{
    const char *const *list = user;
    const size_t length = strlen(name);
    for (; *list != NULL; list++) {
        if (strncmp(*list, name, length) == 0 && (*list)[length] == '=') {
            return *list + length + 1;
        }
    }
    return NULL;
}

static void expect(uint32_t given, uint32_t part, uint32_t parts, const char *scheduler,
                   const char *const *list)
{
    const sl_environment environment = {.get = look_up, .user = list};
    sluice_error error;
    sluice_job_array array;
    sl_error_clear(&error);
    if (sl_job_array_find(&environment, given, &array, &error) != SLUICE_OK) {
        fail_msg("refused: %s", error.text);
    }
    if (array.part != part || array.parts != parts || strcmp(array.scheduler, scheduler) != 0) {
        fail_msg("%u of %u by \"%s\"", array.part, array.parts, array.scheduler);
    }
    assert_int_equal(array.struct_size, sizeof(array));
    assert_int_equal(array.found, scheduler[0] != '\0');
    assert_int_equal(array.variable[0] != '\0', scheduler[0] != '\0');
}

#define EXPECT(given, part, parts, scheduler, ...) \
    expect(given, part, parts, scheduler, (const char *const[]){__VA_ARGS__, NULL})

/* Expects an error with all three texts; the scheduler and its variable are still reported. */
static void refused(uint32_t given, const char *const texts[3], const char *const *list)
{
    const sl_environment environment = {.get = look_up, .user = list};
    sluice_error error;
    sluice_job_array array;
    assert_int_equal(sl_job_array_find(&environment, given, &array, &error), SLUICE_INVALID);
    for (int i = 0; i < 3; i++) {
        if (strstr(error.text, texts[i]) == NULL) {
            fail_msg("not \"%s\": %s", texts[i], error.text);
        }
    }
    assert_true(array.found == 1 && array.part == 0 && array.parts == 1);
    assert_true(array.scheduler[0] != '\0' && array.variable[0] != '\0');
}

#define REFUSED(given, a, b, c, ...) \
    refused(given, (const char *const[]){a, b, c}, (const char *const[]){__VA_ARGS__, NULL})

#define BY_HAND "the options part and parts"

#define SLURM(id, first, last, count, step)                                           \
    "SLURM_ARRAY_JOB_ID=7", "SLURM_ARRAY_TASK_ID=" id, "SLURM_ARRAY_TASK_MIN=" first, \
        "SLURM_ARRAY_TASK_MAX=" last, "SLURM_ARRAY_TASK_COUNT=" count,                \
        "SLURM_ARRAY_TASK_STEP=" step
#define SGE(id, first, last, step) \
    "SGE_TASK_ID=" id, "SGE_TASK_FIRST=" first, "SGE_TASK_LAST=" last, "SGE_TASK_STEPSIZE=" step
#define LSF(index, end, step) \
    "LSB_JOBINDEX=" index, "LSB_JOBINDEX_END=" end, "LSB_JOBINDEX_STEP=" step
#define AWS(index, size) "AWS_BATCH_JOB_ARRAY_INDEX=" index, "AWS_BATCH_JOB_ARRAY_SIZE=" size

TEST(no_array_is_none)
{
    EXPECT(0, 0, 1, "", "PATH=/bin", "SLURM_JOB_ID=7", "SLURM_ARRAY_TASK_ID=");
    EXPECT(8, 0, 1, "", "AWS_BATCH_JOB_ID=x", "PBS_JOBID=7.host");
    EXPECT(0, 0, 1, "", SGE("undefined", "undefined", "undefined", "undefined"));
    EXPECT(0, 0, 1, "", LSF("0", "0", "0"));
}

TEST(each_scheduler)
{
    EXPECT(0, 3, 64, "Slurm", SLURM("3", "0", "63", "64", "1"));
    EXPECT(64, 63, 64, "Slurm", SLURM("64", "1", "64", "64", "1"));
    EXPECT(0, 0, 1, "Slurm", SLURM("5", "5", "5", "1", "1"));
    EXPECT(0, 2, 3, "Slurm", "SLURM_ARRAY_TASK_ID=2", "SLURM_ARRAY_TASK_MIN=0",
           "SLURM_ARRAY_TASK_MAX=2");
    EXPECT(8, 7, 8, "Kubernetes", "JOB_COMPLETION_INDEX=7");
    EXPECT(0, 9, 10, "AWS Batch", AWS("9", "10"));
    EXPECT(10, 0, 10, "AWS Batch", "AWS_BATCH_JOB_ARRAY_INDEX=0");
    EXPECT(0, 0, 100, "LSF", LSF("1", "100", "1"));
    EXPECT(0, 99, 100, "LSF", LSF("100", "100", "1"));
    EXPECT(5, 4, 5, "LSF", "LSB_JOBINDEX=5");
    EXPECT(0, 1, 4, "SGE", SGE("2", "1", "4", "1"));
    EXPECT(0, 0, 3, "SGE", SGE("10", "10", "12", "1"));
    EXPECT(16, 15, 16, "PBS", "PBS_ARRAY_INDEX=15", "PBS_ARRAY_ID=7[].host");
    EXPECT(16, 0, 16, "Torque", "PBS_ARRAYID=0");
}

TEST(two_schedulers_that_agree)
{
    EXPECT(0, 3, 10, "Kubernetes", AWS("3", "10"), "JOB_COMPLETION_INDEX=3");
    EXPECT(0, 3, 10, "Slurm", SLURM("4", "1", "10", "10", "1"), LSF("4", "10", "1"));
    EXPECT(0, 2, 3, "Slurm", SLURM("2", "0", "2", "3", "1"), "SGE_TASK_ID=undefined");
}

TEST(two_schedulers_that_disagree)
{
    REFUSED(0, "SLURM_ARRAY_TASK_ID (Slurm) is 3", "AWS_BATCH_JOB_ARRAY_INDEX (AWS Batch) is 4",
            BY_HAND, SLURM("3", "0", "9", "10", "1"), AWS("4", "10"));
    REFUSED(0, "SLURM_ARRAY_TASK_ID", "AWS_BATCH_JOB_ARRAY_INDEX", "unset one",
            SLURM("3", "0", "9", "10", "1"), AWS("3", "11"));
    REFUSED(8, "PBS_ARRAY_INDEX (PBS) is 1", "PBS_ARRAYID (Torque) is 2", "unset one",
            "PBS_ARRAY_INDEX=1", "PBS_ARRAYID=2");
}

TEST(the_number_of_jobs_is_missing)
{
    REFUSED(0, "JOB_COMPLETION_INDEX is set", "give it", "the number of parts",
            "JOB_COMPLETION_INDEX=0");
    REFUSED(0, "PBS_ARRAY_INDEX", "give it", "the number of parts", "PBS_ARRAY_INDEX=0");
    REFUSED(0, "PBS_ARRAYID", "give it", "the number of parts", "PBS_ARRAYID=0");
    REFUSED(0, "AWS_BATCH_JOB_ARRAY_INDEX", "give it", "the number of parts",
            "AWS_BATCH_JOB_ARRAY_INDEX=0");
    REFUSED(0, "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN is not", BY_HAND,
            "SLURM_ARRAY_TASK_ID=0", "SLURM_ARRAY_TASK_COUNT=3");
}

TEST(another_number_of_jobs_than_was_given)
{
    REFUSED(32, "SLURM_ARRAY_TASK_ID has 64 jobs, not 32", "leave the number out", BY_HAND,
            SLURM("3", "0", "63", "64", "1"));
    REFUSED(64, "SLURM_ARRAY_TASK_ID has 2 jobs, not 64", "leave the number out", BY_HAND,
            SLURM("17", "17", "18", "2", "1")); /* part of an array, resubmitted */
}

TEST(indices_that_say_no_part)
{
    REFUSED(0, "SLURM_ARRAY_TASK_STEP is 2", "without a step", BY_HAND,
            SLURM("3", "1", "7", "4", "2"));
    REFUSED(0, "SGE_TASK_STEPSIZE is 3", "without a step", BY_HAND, SGE("4", "1", "7", "3"));
    REFUSED(0, "LSB_JOBINDEX_STEP is 2", "without a step", BY_HAND, LSF("3", "9", "2"));
    REFUSED(0, "SLURM_ARRAY_TASK_COUNT is 3", "from 1 to 7", BY_HAND,
            SLURM("3", "1", "7", "3", "1"));
    REFUSED(0, "SGE_TASK_LAST is 2", "first index 5", "", SGE("5", "5", "2", "1"));
    REFUSED(8, "JOB_COMPLETION_INDEX is 8", "from 0 to 7", BY_HAND, "JOB_COMPLETION_INDEX=8");
    REFUSED(16, "PBS_ARRAY_INDEX is 16", "from 0 to 15", BY_HAND, "PBS_ARRAY_INDEX=16");
    REFUSED(0, "AWS_BATCH_JOB_ARRAY_INDEX is 10", "from 0 to 9", BY_HAND, AWS("10", "10"));
    REFUSED(0, "LSB_JOBINDEX is 11", "from 1 to 10", BY_HAND, LSF("11", "10", "1"));
    REFUSED(0, "SLURM_ARRAY_TASK_ID is 0", "from 1 to 4", BY_HAND, SLURM("0", "1", "4", "4", "1"));
    REFUSED(5, "LSB_JOBINDEX is 6", "from 1 to 5", BY_HAND, "LSB_JOBINDEX=6");
}

TEST(what_is_not_a_number)
{
    REFUSED(8, "JOB_COMPLETION_INDEX is \"-1\"", "not a number", "", "JOB_COMPLETION_INDEX=-1");
    REFUSED(8, "PBS_ARRAYID is \"3x\"", "not a number", "", "PBS_ARRAYID=3x");
    REFUSED(8, "PBS_ARRAY_INDEX is \"4294967296\"", "not a number", "",
            "PBS_ARRAY_INDEX=4294967296");
    REFUSED(0, "SLURM_ARRAY_TASK_COUNT is \"x\"", "not a number", "",
            SLURM("0", "0", "1", "x", "1"));
    REFUSED(0, "SLURM_ARRAY_TASK_MIN is \" 0\"", "not a number", "",
            SLURM("0", " 0", "1", "2", "1"));
    REFUSED(0, "SLURM_ARRAY_TASK_MAX is \"?\"", "not a number", "", SLURM("0", "0", "?", "2", "1"));
    REFUSED(0, "SLURM_ARRAY_TASK_STEP is \"1.5\"", "not a number", "",
            SLURM("0", "0", "1", "2", "1.5"));
    REFUSED(0, "SGE_TASK_FIRST is \"undefined\"", "not a number", "",
            SGE("1", "undefined", "2", "1"));
}
