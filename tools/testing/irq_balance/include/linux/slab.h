/* SPDX-License-Identifier: GPL-2.0 */
/* Included by the KUnit suites; kunit/test.h has what they need of it. */
