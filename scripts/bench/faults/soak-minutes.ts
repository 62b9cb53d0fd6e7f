import { createParser } from 'eventsource-parser';
import { z } from 'zod';
import { residentMiB } from '../../../test/hostile/support/resident.ts';
import { svgText } from '../../svg-text.ts';
import { percentile } from '../lib/random.ts';
import { median } from '../lib/table.ts';

/** A minute of a soak. Times in milliseconds, memory resident in MiB; NaN where there was nothing to measure. */
interface Minute {
  readonly ttftP50: number;
  readonly ttftP99: number;
  readonly itlP50: number;
  readonly itlP99: number;
  /** Tokens of streamed answers. */
  readonly tokens: number;
  /** Times of the model's runs over those that the cost model expected. */
  readonly costRatio: number;
  readonly frontMiB: number;
  readonly engineMiB: number;
}

const step = z.object({
  type: z.literal('step'),
  run_ms: z.number(),
  predicted_ms: z.number(),
});

const MINUTE_MS = 60_000;

/** Times of tokens, and what a server's processes take, by minutes. */
export class SoakMinutes {
  readonly all: Minute[] = [];
  readonly #front: number | undefined;
  readonly #engine: number | undefined;
  #firsts: number[] = [];
  #gaps: number[] = [];
  #runMs = 0;
  #predictedMs = 0;

  /** @param front @param engine ids of the two processes */
  constructor(front: number | undefined, engine: number | undefined) {
    this.#front = front;
    this.#engine = engine;
  }

  /** To call when a request is sent; `token` with each piece of its answer. */
  timer(): { token(): void } {
    let last = performance.now();
    let isFirst = true;
    return {
      token: () => {
        const now = performance.now();
        (isFirst ? this.#firsts : this.#gaps).push(now - last);
        last = now;
        isFirst = false;
      },
    };
  }

  /** Begins the first minute, and reads the server's steps until it is stopped. */
  watch(url: string): { stop(): Promise<void> } {
    this.#begin();
    const interval = setInterval(() => this.#end(), MINUTE_MS);
    const aborter = new AbortController();
    const reading = this.#readSteps(url, aborter.signal).catch((error: unknown) => {
      if (!aborter.signal.aborted) throw error;
    });
    return {
      stop: async () => {
        clearInterval(interval);
        if (this.all.length === 0) this.#end();
        aborter.abort();
        await reading;
      },
    };
  }

  async #readSteps(url: string, signal: AbortSignal): Promise<void> {
    const response = await fetch(`${url}/admin/steps?every=10`, { signal });
    const parser = createParser({
      onEvent: ({ data }) => {
        const { data: told } = step.safeParse(JSON.parse(data));
        if (told === undefined || told.predicted_ms === 0) return;
        this.#runMs += told.run_ms;
        this.#predictedMs += told.predicted_ms;
      },
    });
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      parser.feed(decoder.decode(bytes, { stream: true }));
    }
  }

  #begin(): void {
    [this.#firsts, this.#gaps, this.#runMs, this.#predictedMs] = [[], [], 0, 0];
  }

  #end(): void {
    this.all.push({
      ttftP50: percentile(this.#firsts, 0.5),
      ttftP99: percentile(this.#firsts, 0.99),
      itlP50: percentile(this.#gaps, 0.5),
      itlP99: percentile(this.#gaps, 0.99),
      tokens: this.#firsts.length + this.#gaps.length,
      costRatio: this.#runMs / this.#predictedMs,
      frontMiB: residentMiB(this.#front),
      engineMiB: residentMiB(this.#engine),
    });
    this.#begin();
  }
}

const FIGURES: readonly (readonly [keyof Minute, string])[] = [
  ['ttftP50', 'TTFT p50, ms'],
  ['ttftP99', 'TTFT p99, ms'],
  ['itlP50', 'ITL p50, ms'],
  ['itlP99', 'ITL p99, ms'],
  ['tokens', 'streamed tokens a minute'],
  ['costRatio', 'times of runs, measured over expected'],
  ['frontMiB', 'front, MiB'],
  ['engineMiB', 'engine, MiB'],
];

/** Medians over the minutes of each third of a soak, as a table: what grows from third to third drifts. */
export function drift(minutes: readonly Minute[]): {
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
} {
  const third = Math.ceil(minutes.length / 3);
  const rows = FIGURES.map(([figure, title]) => {
    const all = minutes.map((minute) => minute[figure]);
    const thirds = [0, 1, 2].map((at) => median(all.slice(at * third, (at + 1) * third)));
    const [first = NaN, , last = NaN] = thirds;
    return [
      title,
      ...thirds.map((value) => String(Number(value.toPrecision(3)))),
      `${(last / first).toFixed(2)}x`,
    ];
  });
  return {
    header: ['median of minutes', 'first third', 'second', 'last', 'last over first'],
    rows,
  };
}

const WIDTH = 760;
const PANEL = { left: 60, height: 70, pitch: 110, top: 70 };

/** A panel for each figure over time, from 0 to its largest value, as SVG. */
export function plotSoak(title: string, machine: string, minutes: readonly Minute[]): string {
  const width = WIDTH - PANEL.left - 20;
  const panels = FIGURES.map(([figure, label], index) => {
    const all = minutes.map((minute) => minute[figure]);
    const most = Math.max(...all.filter((value) => Number.isFinite(value)), Number.MIN_VALUE);
    const bottom = PANEL.top + index * PANEL.pitch + PANEL.height;
    const points = all
      .map((value, at) => [
        PANEL.left + (width * at) / Math.max(1, all.length - 1),
        bottom - (PANEL.height * value) / most,
      ])
      .filter(([, y = NaN]) => Number.isFinite(y))
      .map((point) => point.map((each) => each.toFixed(1)).join(' '));
    return [
      svgText(PANEL.left, bottom - PANEL.height - 8, label, 'font-weight="600"'),
      svgText(
        PANEL.left - 8,
        bottom - PANEL.height + 10,
        String(Number(most.toPrecision(3))),
        'text-anchor="end"',
      ),
      svgText(PANEL.left - 8, bottom, '0', 'text-anchor="end"'),
      `<path d="M${PANEL.left} ${bottom}h${width}" stroke="#ddd"/>`,
      `<path d="M${points.join('L')}" fill="none" stroke="#0072b2" stroke-width="2"/>`,
    ].join('\n');
  });
  const height = PANEL.top + FIGURES.length * PANEL.pitch;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" ` +
      `height="${height}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    svgText(PANEL.left, 26, 'A soak, by minutes', 'font-size="14" font-weight="600"'),
    svgText(PANEL.left, 44, title, 'fill="#666"'),
    ...panels,
    svgText(PANEL.left, height - 14, machine, 'fill="#666"'),
    svgText(WIDTH - 20, height - 14, `${minutes.length} minutes`, 'text-anchor="end" fill="#666"'),
    '</svg>',
    '',
  ].join('\n');
}
