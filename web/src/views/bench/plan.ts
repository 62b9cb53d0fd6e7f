/** Plan of a load test, within bounds: one tab's test should not take a server from others. */
export interface BenchPlan {
  readonly requests: number;
  /** Most requests at once. */
  readonly concurrency: number;
  /** Requests per second; 0 sends all at once. */
  readonly rate: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** For prompts and arrivals. */
  readonly seed: number;
}

export const DEFAULT_PLAN: BenchPlan = {
  requests: 32,
  concurrency: 8,
  rate: 0,
  promptTokens: 64,
  outputTokens: 64,
  seed: 0,
};

export const PLAN_FIELDS = [
  { name: 'requests', label: 'Requests', note: 'in total', min: 1, max: 500, step: 1 },
  { name: 'concurrency', label: 'At once', note: 'most in flight', min: 1, max: 64, step: 1 },
  {
    name: 'rate',
    label: 'Rate',
    note: 'per second; 0 is all at once',
    min: 0,
    max: 100,
    step: 0.5,
  },
  { name: 'promptTokens', label: 'Prompt', note: 'tokens', min: 1, max: 4096, step: 1 },
  { name: 'outputTokens', label: 'Answer', note: 'tokens', min: 1, max: 1024, step: 1 },
] as const;

/** A test that takes longer is stopped, and reported as far as it came. */
export const MOST_SECONDS = 120;

export const PRESETS: readonly { readonly title: string; readonly plan: BenchPlan }[] = [
  { title: 'One stream', plan: { ...DEFAULT_PLAN, requests: 4, concurrency: 1 } },
  { title: 'A few users', plan: DEFAULT_PLAN },
  { title: 'A crowd', plan: { ...DEFAULT_PLAN, requests: 128, concurrency: 64 } },
  {
    title: 'Long prompts',
    plan: { ...DEFAULT_PLAN, requests: 16, concurrency: 4, promptTokens: 512, outputTokens: 32 },
  },
];
