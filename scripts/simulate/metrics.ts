import { Histogram } from './histogram.ts';

/** Times that a request has to keep to count as served well. */
export interface ServiceLevel {
  readonly ttftMs: number;
  /** Not exceeded by 95 in 100 of a request's gaps between tokens. */
  readonly itlMs: number;
}

/** One request's progress. */
export interface Timeline {
  readonly group: string;
  readonly arrivedMs: number;
  firstMs: number;
  lastMs: number;
  numTokens: number;
  numSlowGaps: number;
}

const SLOW_GAPS_ALLOWED = 0.05;

export class Metrics {
  readonly ttft = new Histogram();
  readonly itl = new Histogram();
  readonly ttftByGroup = new Map<string, Histogram>();
  readonly itlByGroup = new Map<string, Histogram>();
  readonly tokensByGroup = new Map<string, number>();
  numArrived = 0;
  numFinished = 0;
  numCancelled = 0;
  /** Ended in their middle with the machine that they were on. */
  numCut = 0;
  /** Finished, and within the service level. */
  numGood = 0;
  numTokens = 0;
  readonly #level: ServiceLevel;

  constructor(level: ServiceLevel) {
    this.#level = level;
  }

  arrived(group: string, nowMs: number): Timeline {
    this.numArrived++;
    return { group, arrivedMs: nowMs, firstMs: NaN, lastMs: NaN, numTokens: 0, numSlowGaps: 0 };
  }

  token(timeline: Timeline, nowMs: number): void {
    if (timeline.numTokens++ === 0) {
      timeline.firstMs = nowMs;
      this.#addTtft(timeline.group, nowMs - timeline.arrivedMs);
    } else {
      const gap = nowMs - timeline.lastMs;
      this.itl.add(gap);
      histogramOf(this.itlByGroup, timeline.group).add(gap);
      if (gap > this.#level.itlMs) timeline.numSlowGaps++;
    }
    timeline.lastMs = nowMs;
    this.numTokens++;
    const { group } = timeline;
    this.tokensByGroup.set(group, (this.tokensByGroup.get(group) ?? 0) + 1);
  }

  finished({ arrivedMs, firstMs, numTokens, numSlowGaps }: Timeline): void {
    this.numFinished++;
    const isPrompt = firstMs - arrivedMs <= this.#level.ttftMs;
    if (isPrompt && numSlowGaps <= SLOW_GAPS_ALLOWED * (numTokens - 1)) this.numGood++;
  }

  cut(): void {
    this.numCut++;
  }

  cancelled(): void {
    this.numCancelled++;
  }

  #addTtft(group: string, ms: number): void {
    this.ttft.add(ms);
    histogramOf(this.ttftByGroup, group).add(ms);
  }
}

function histogramOf(histograms: Map<string, Histogram>, group: string): Histogram {
  const known = histograms.get(group);
  if (known) return known;
  const histogram = new Histogram();
  histograms.set(group, histogram);
  return histogram;
}
