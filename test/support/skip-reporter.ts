import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from 'vitest/node';

/**
 * Says at the end which tests were skipped, and what they need: a skip without such a reason is an error. And
 * which file did not come to its end, since Vitest does not say over which one a process crashed.
 */
export default class SkipReporter implements Reporter {
  #isFiltered = false;
  readonly #running = new Set<string>();

  onInit({ config }: Vitest): void {
    // With -t all other tests are skipped.
    this.#isFiltered = config.testNamePattern !== undefined;
  }

  onTestModuleStart({ relativeModuleId }: TestModule): void {
    this.#running.add(relativeModuleId);
  }

  onTestModuleEnd({ relativeModuleId }: TestModule): void {
    this.#running.delete(relativeModuleId);
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const path of this.#running) {
      console.error(
        `*** CRASHED over ${path}: files that were to follow in its process were not run`,
      );
    }
    const byReason = new Map<string, string[]>();
    const skipped = modules.flatMap((module) => [...module.children.allTests('skipped')]);
    for (const test of skipped) {
      const reason = needsOf(test);
      if (reason === undefined && this.#isFiltered) continue;
      const place = `${test.module.relativeModuleId} > ${test.fullName}`;
      byReason.set(reason ?? '', [...(byReason.get(reason ?? '') ?? []), place]);
    }
    for (const [reason, places] of byReason) {
      const why = reason === '' ? 'without a reason: see test/support/needs.ts' : `needs ${reason}`;
      console.error(`*** SKIPPED ${places.length}, ${why}`);
      for (const place of places) console.error(`***   ${place}`);
    }
    if (byReason.has('')) process.exitCode = 1;
  }
}

/** Finds what a test or one of the suites around it says that it needs. */
function needsOf(test: TestCase): string | undefined {
  let task: TestCase | TestSuite | TestModule = test;
  for (; task.type !== 'module'; task = task.parent) {
    const { needs } = task.meta();
    if (needs !== undefined) return needs;
  }
  return undefined;
}
