/* SPDX-License-Identifier: GPL-2.0 */
/* The part of linux/btf.h that program.c needs. */
#ifndef _IRQ_BALANCE_LINUX_BTF_H
#define _IRQ_BALANCE_LINUX_BTF_H

#define __bpf_kfunc

#endif /* _IRQ_BALANCE_LINUX_BTF_H */
