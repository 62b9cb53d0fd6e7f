import type { Job } from './job.ts';

/** Builders at once: each needs a core, and memory for a model's largest tensor. */
const MAX_BUILDERS = 4;

/** Models that are built ahead of their jobs, in processes of their own. */
export class Builds {
  readonly #build: (job: Job) => Promise<string | undefined>;
  readonly #waiting: Job[] = [];
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #done = new Map<string, string | undefined>();

  /** @param build builds a job's model; resolves to why it could not */
  constructor(build: (job: Job) => Promise<string | undefined>) {
    this.#build = build;
  }

  add(job: Job): void {
    this.#waiting.push(job);
    this.#start();
  }

  /** The first of these jobs whose model is there, or will never be, once there is one. */
  async firstReady(jobs: readonly Job[]): Promise<Job> {
    for (;;) {
      const ready = jobs.find((job) => this.#done.has(modelOf(job)));
      if (ready) return ready;
      await Promise.race(this.#underWay.values());
    }
  }

  /** Why a job's model could not be built, if that was tried. */
  failureOf(job: Job): string | undefined {
    return this.#done.get(modelOf(job));
  }

  #start(): void {
    while (this.#underWay.size < MAX_BUILDERS) {
      const job = this.#waiting.shift();
      if (!job) return;
      const model = modelOf(job);
      const building = this.#build(job).then((failure) => {
        this.#done.set(model, failure);
        this.#underWay.delete(model);
        this.#start();
      });
      this.#underWay.set(model, building);
    }
  }
}

function modelOf({ shape, precision }: Job): string {
  return `${shape} ${precision}`;
}
