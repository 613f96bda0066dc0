# SPDX-License-Identifier: GPL-2.0
"""MSI bridges that take no mask: all interrupts behind one arrive on one CPU

Many boards have a PCIe bridge that collects the MSIs of its devices in one interrupt. Their masks
can be read, and have no effect. A read-only smp_affinity shows this as little as the core's placement
of managed interrupts, which is read-only too. A bridge is recognized

  by the chip's name, of Linux up to 6.12 or newer
  by an interrupt that arrives outside of its mask; of masks that can be written, two on the same CPU
  by masks that all hold all CPUs, read-only, with no other mask of this chip writable: managed
  interrupts have a part of the CPUs each, beside one of their driver that can be moved
"""
import re

# The begin of a chip's name, and the driver of the bridge in drivers/pci/controller
BRIDGES = (
    (r'BRCM', 'brcmstb'), (r'MTK3-', 'mediatek-gen3'), (r'MTK', 'mediatek'), (r'RCAR-|R-Car|PCIe MSI$', 'rcar'), (r'Tegra', 'tegra'),
    (r'advk-', 'aardvark'), (r'PLDA', 'plda'), (r'(?i)rzg3s', 'rzg3s'), (r'(?i)xilinx|nwl|pl_dma', 'xilinx'),
    (r'(?i)altera', 'altera'), (r'(?i)mobiveil', 'mobiveil'), (r'ASPEED', 'aspeed'), (r'VMD', 'vmd'))
# DesignWare: up to 6.18 a mask is refused, later each occurrence is passed on
DESIGNWARE = r'(?i)dw[ -]|dwpci|dwc|designware'
# The cost of passing an occurrence on to another CPU, IRQ_BALANCE_IPI_NS in kernel-irq's collect.c
IPI_NS = 2000
# Managed, where an interrupt with all CPUs may be the only one of its device
STORAGE = r'nvme|virtio[0-9]+-req|mpt|mega|aac|qla|lpfc|hpsa|smartpqi|hisi|hpre|sec|zip'


def kind(chip):
    """A chip's name without the device's address, the same for MSI and MSI-X."""
    return re.sub(r'-?[0-9a-f]{4,}:[0-9a-f]{2}:.*', '', chip).replace('MSIX', 'MSI').replace('MSI-X', 'MSI')


def redirects(row):
    """Whether an occurrence on another CPU costs an IPI."""
    return row['writable'] and re.match(DESIGNWARE, row['chip']) is not None


def driver(chip):
    return next((name for pattern, name in BRIDGES if re.match(pattern, chip)), None)


def bridges(rows, online, old_arm=False):
    """
    {irq: what the bridge is called} of ROWS, {irq: row} with chip, name, listed (the mask as it is
    shown), cpu, writable, and known (managed for certain). OLD_ARM: no kernel with IPIs for DesignWare.
    """
    groups, found = {}, {}
    for irq, row in rows.items():
        if 'msi' in row['chip'].lower():
            groups.setdefault(kind(row['chip']), []).append(irq)
    for chip, irqs in groups.items():
        readonly = [irq for irq in irqs if not rows[irq]['writable']]
        outside = [irq for irq in irqs if rows[irq]['listed'] and rows[irq]['cpu'] not in rows[irq]['listed']]
        free = [irq for irq in readonly if not rows[irq]['known']]
        full = all(rows[irq]['listed'] >= online for irq in free)
        single = len(free) == 1 and re.match(STORAGE, rows[free[0]]['name'])
        if driver(chip):
            taken = irqs
        elif re.match(DESIGNWARE, chip) and len(readonly) == len(irqs) or set(outside) & set(readonly):
            taken = readonly
        elif len(outside) > 1 and len({rows[irq]['cpu'] for irq in outside}) == 1 or old_arm and chip == 'PCI-MSI':
            taken = irqs
        elif free and len(readonly) == len(irqs) and full and not single and len(online) > 1:
            taken = free
        else:
            taken = []
        name = driver(chip) or 'DesignWare' if driver(chip) or re.match(DESIGNWARE, chip) or old_arm and chip == 'PCI-MSI' else ''
        found.update(dict.fromkeys(taken, '%s (%s)' % (name, chip) if name else chip))
    return found
