/* SPDX-License-Identifier: Apache-2.0 */
/* late_slots with a C++ runtime of its own, and slots that are bound at the start, then read-only. */
#include "tests/programs/late_slots.cpp"
