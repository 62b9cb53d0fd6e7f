import type { Reporter, TestCase } from 'vitest/node';

/** Says loudly which tests passed only when they were run again, and how they had failed. */
export default class FlakyReporter implements Reporter {
  readonly #flaky: string[] = [];

  onTestCaseResult(test: TestCase): void {
    if (!test.diagnostic()?.flaky) return;
    const [error] = test.result().errors ?? [];
    const place = `${test.module.relativeModuleId} > ${test.fullName}`;
    this.#flaky.push(`*** FAILED AT FIRST: ${place}: ${error?.message ?? 'no message'}`);
  }

  onTestRunEnd(): void {
    for (const each of this.#flaky) console.error(each);
  }
}
