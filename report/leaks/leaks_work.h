/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the parts of `leaks`: the evaluation of sites (leaks.c), tests of growth spread over
 * many sites (levels.c), groups of related sites and findings of several groups (groups.c),
 * owners (owners.c), causes (causes.c), sums over findings and the answer (outcome.c).
 */
#ifndef TH_REPORT_LEAKS_LEAKS_WORK_H
#define TH_REPORT_LEAKS_LEAKS_WORK_H

#include "report/leaks/leaks.h"
#include "report/profile/order.h"

#define TH_NO_GROUP UINT32_MAX
#define TH_NO_NODE UINT32_MAX

/* A finding under construction: sites of one heap that are judged together. */
struct th_leak_group {
	TH_ARRAY(uint32_t, places);
	enum th_heap heap;
	enum th_verdict verdict;
	enum th_verdict
		listed; /* verdict of the finding that it leads, if that is listed; else its own */
	uint32_t node;   /* of th_leaks_work; TH_NO_NODE: sites of one line */
	uint32_t leader; /* group that leads the finding, or one that this joined; itself */
	uint32_t next;   /* next group of the same finding; TH_NO_GROUP */
};

/* Where growth that no single site shows became significant. */
struct th_leak_node {
	enum th_leak_level level;
	uint32_t key; /* path prefix; of a line its maker */
	double chance_limit;
};

/* What the names of functions show: names are scattered in memory, and used for every site. */
struct th_leaks_function {
	bool is_constructor;
	uint32_t
		owner; /* string of its class, if objects of it were sampled; TH_NO_STRING: not */
};

struct th_leaks_work {
	struct th_leaks *leaks;
	struct th_sample_order order; /* by site */
	struct th_outline *outlines;  /* by site */
	uint32_t *nodes;  /* by site: node whose growth it is part of, or TH_NO_NODE */
	uint32_t *makers; /* by site: th_leaks_maker() */
	struct th_resident_mappings residency;
	struct th_judge judges[TH_HEAPS];
	struct th_leaks_function *functions; /* by number */
	struct th_id_map owner_ids;          /* sites of Java objects */
	TH_ARRAY(struct th_owner, owners);
	struct th_id_map group_ids; /* heap, creator or site, verdict */
	TH_ARRAY(struct th_leak_group, groups);
	TH_ARRAY(struct th_leak_node, found);
	TH_ARRAY(uint32_t, gathered); /* samples */
};

/* Evaluates sites of one heap together, with this error rate. */
void th_leaks_evaluate(struct th_leaks_work *work, enum th_heap heap, const uint32_t *places,
	size_t count, double chance_limit, struct th_evidence *ret);

/*
 * The path prefix that related sites share: down to the creator; if that is a constructor of
 * the application, down to the method of the application that made the object.
 */
uint32_t th_leaks_maker(struct th_leaks *leaks, const struct th_leak_site *place);

/* Key that related sites of a heap share. */
static inline uint64_t
th_leaks_relation(const struct th_leaks_work *work, uint32_t number)
{
	return (uint64_t)work->leaks->places.items[number].heap << 32 | work->makers[number];
}

/* Finds growth that is spread over several sites, from the lines of the application upwards. */
void th_levels_judge(struct th_leaks_work *work);

/* Groups judged sites; related groups with a leak become one finding. */
void th_groups_form(struct th_leaks_work *work);
void th_groups_deinit(struct th_leaks_work *work);

/* Fills `functions`. */
void th_owners_find_constructors(struct th_leaks_work *work);

/* Verdict, figures and owner of a group. */
struct th_finding
th_groups_judge(struct th_leaks_work *work, const struct th_leak_group *group);

/* Sets `causes` of the leaks, by number.  After tallies and findings are known. */
void th_causes_find(struct th_leaks *leaks);

/*
 * Sets row_limit, unsettled and outcome of the leaks, after the findings and their causes are known:
 * row_limit to the largest upper end of the growth of a row that is no leak and has not stopped growing,
 * by heap, which is what "no leak above" may claim at most; `unsettled` to the finding of most live bytes
 * that is unclear and may grow by more than the detection limit.
 */
void th_leaks_conclude(struct th_leaks *leaks);

/* The site of a group with most live bytes. */
uint32_t th_groups_largest(const struct th_leaks_work *work, const struct th_leak_group *group);

/* The owner of the blocks of some sites with this fraction of survivors. */
struct th_owner th_owners_find(
	struct th_leaks_work *work, const uint32_t *places, size_t count, double survivors);

#endif
