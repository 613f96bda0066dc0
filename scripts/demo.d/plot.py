# SPDX-License-Identifier: GPL-2.0
"""Picture of the demo: interrupt load of each CPU over time, off and on."""
import os


def series(run, step=1.0):
    """(times, [load of CPU0 ...]) in windows of step seconds."""
    times, loads = [], []
    for when, _, _ in run.samples:
        try:
            loads.append(run.loads(when - step - 0.01, when))
            times.append(when)
        except ValueError:
            pass
    return times, list(zip(*loads))


def picture(out, scenes):
    """Writes irq-load.png and .svg to out; returns their paths."""
    try:
        import matplotlib
    except ImportError:
        print('demo: no picture: matplotlib is missing (Debian package python3-matplotlib)')
        return []
    matplotlib.use('Agg')
    matplotlib.rcParams['svg.hashsalt'] = 'irq_balance'
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(len(scenes), 2, figsize=(11, 2.9 * len(scenes)), squeeze=False,
                                sharey='row', constrained_layout=True)
    colours = plt.get_cmap('tab10').colors
    for row, (number, name, marks, runs, figures) in zip(axes, scenes):
        for axis, state in zip(row, ('off', 'on')):
            run = runs[state]
            origin = run.mark(marks[0])
            times, cpus = series(run)
            for cpu, values in enumerate(cpus):
                axis.plot([t - origin for t in times], values, color=colours[cpu], lw=1.3,
                          label='CPU%d' % cpu)
            for mark in marks:
                axis.axvline(run.mark(mark) - origin, color='0.4', lw=0.8, ls='--')
            axis.set_title('%d. %s: irqbalance=%s, max/mean %.2f' % (
                number, name, state, figures[state]['max_over_mean']), fontsize=8.5)
            axis.set_ylim(bottom=0)
            axis.grid(alpha=0.25)
            axis.tick_params(labelsize=8)
        row[0].set_ylabel('interrupt time, % of a CPU', fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel('seconds from the (first) event', fontsize=8)
    axes[0][1].legend(fontsize=7, ncol=2, loc='upper right')
    paths = [os.path.join(out, 'irq-load.' + kind) for kind in ('png', 'svg')]
    for path in paths:
        figure.savefig(path, dpi=110)
    plt.close(figure)
    return paths
