import { told } from '../../told.ts';

/** For the `warnings` of an answer; none where nothing was left out. */
export function warningsOf(skipped: readonly string[]): string[] {
  return skipped.map(
    (type) => `Tools of type '${told(type, 100)}' were left out: this server does not run them.`,
  );
}
