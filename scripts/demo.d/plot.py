# SPDX-License-Identifier: GPL-2.0
"""Pictures of the demo: packets delivered in overload, and the load of each CPU over time."""
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


def pyplot():
    try:
        import matplotlib
    except ImportError:
        print('demo: no picture: matplotlib is missing (Debian package python3-matplotlib)')
        return None
    matplotlib.use('Agg')
    matplotlib.rcParams['svg.hashsalt'] = 'irq_balance'
    import matplotlib.pyplot as plt
    return plt


def save(plt, figure, out, name):
    paths = [os.path.join(out, '%s.%s' % (name, kind)) for kind in ('png', 'svg')]
    for path in paths:
        figure.savefig(path, dpi=110, metadata={'Date': None} if path.endswith('svg') else None)
    plt.close(figure)
    return paths


def bars(out, overload, names):
    """Writes overload.png and .svg to out; returns their paths."""
    plt = pyplot()
    if not plt:
        return []
    figure, axes = plt.subplots(1, 2, figsize=(9, 0.6 + 0.45 * len(overload)), sharey=True, constrained_layout=True)
    ways = list(overload)[::-1]
    for axis, key, scale, title in ((axes[0], 'pps', 1, 'packets/s delivered'),
                                    (axes[1], 'rtt_us_p99', 1000, 'ping beside them, ms (p99)')):
        values = [(overload[way][key] or 0) / scale for way in ways]
        drawn = axis.barh([names[way] for way in ways], values,
                          color=['tab:green' if way == 'on' else '0.6' for way in ways])
        axis.bar_label(drawn, labels=['%.0f' % value if value >= 10 else '%.1f' % value for value in values], padding=3, fontsize=8)
        axis.set_title(title, fontsize=9)
        axis.margins(x=0.15)
        axis.tick_params(labelsize=8)
    return save(plt, figure, out, 'overload')


def picture(out, scenes):
    """Writes irq-load.png and .svg to out; returns their paths."""
    plt = pyplot()
    if not plt:
        return []

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
    return save(plt, figure, out, 'irq-load')
