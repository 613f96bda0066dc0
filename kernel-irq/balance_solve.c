// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt balancing: the search for a placement.
 */
#include "balance_solve.h"
