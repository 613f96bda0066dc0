/* SPDX-License-Identifier: GPL-2.0 */
/* What the policy uses of linux/string.h, where no kernel tree is at hand. */
#include <string.h>
