/* SPDX-License-Identifier: Apache-2.0 */
#include "report/profile/resident_blocks.h"

#include <stdlib.h>

#include "report/base/allocate.h"

/* A mapping that was partly unmapped has several pieces. */
static uint64_t
merge(uint64_t word, uint64_t more)
{
	uint64_t flags = (word | more) & ~TH_TOUCHED_BYTES;

	return (((word & TH_TOUCHED_BYTES) + (more & TH_TOUCHED_BYTES)) & TH_TOUCHED_BYTES) |
	       flags;
}

static void
add(struct th_resident_blocks *touched, uint32_t record, uint64_t word)
{
	bool added;
	uint32_t index = th_id_map_intern(&touched->ids, record, &added);

	if (added)
		th_array_append(touched, words, word);
	else
		touched->words[index] = merge(touched->words[index], word);
}

void
th_resident_blocks_init(struct th_resident_blocks *touched,
	const struct th_recording *recording, uint32_t account, const struct th_id_map *records)
{
	*touched = (struct th_resident_blocks){0};
	for (size_t i = 0; i < recording->touched_count; i++) {
		const struct th_decoded_touched *event = &recording->touched[i];

		for (uint32_t k = 0; event->account == account && k + 1 < event->blocks.count;
			k += 2) {
			uint32_t record = th_recording_record(
				recording, event->blocks.words[k]);

			if (!records || th_id_map_find(records, record) != TH_ID_MAP_NONE)
				add(touched, record, event->blocks.words[k + 1]);
		}
	}
}

void
th_resident_blocks_deinit(struct th_resident_blocks *touched)
{
	th_id_map_deinit(&touched->ids);
	free(touched->words);
}

bool
th_resident_blocks_find(const struct th_resident_blocks *touched,
	const struct th_sample *sample, uint64_t *word_ret)
{
	uint32_t index = th_id_map_find(&touched->ids, sample->record);

	if (index == TH_ID_MAP_NONE)
		return false;
	*word_ret = touched->words[index];
	return true;
}

/* Mappings */

void
th_resident_mappings_init(struct th_resident_mappings *residency,
	const struct th_recording *recording, uint64_t to)
{
	struct th_id_map records = {0};
	struct th_resident_blocks blocks;

	*residency = (struct th_resident_mappings){0};
	for (size_t i = 0; i < recording->mappings.items_count; i++)
		th_id_map_intern(&records, recording->mappings.items[i].record, NULL);
	for (size_t i = 0; i < recording->accounts_count; i++) {
		const struct th_decoded_account *account = &recording->accounts[i];

		if (!(account->flags & TH_BREAKDOWN_HAS_PAGES) || account->time > to)
			continue;
		th_resident_blocks_init(&blocks, recording, account->account, &records);
		th_array_append(residency, times, account->time);
		th_array_append(residency, blocks, blocks);
		residency->has_data |= blocks.words_count > 0;
	}
	th_id_map_deinit(&records);
}

void
th_resident_mappings_deinit(struct th_resident_mappings *residency)
{
	for (size_t i = 0; i < residency->blocks_count; i++)
		th_resident_blocks_deinit(&residency->blocks[i]);
	free(residency->blocks);
	free(residency->times);
}
