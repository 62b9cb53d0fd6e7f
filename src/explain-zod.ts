/** Explains what is wrong with data from outside, in our words: zod's are for programmers. */
import type { z } from 'zod';

type Issue = z.core.$ZodIssue;

/** Most faults that one error names. */
const SHOWN = 5;

const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  tuple: 'a list',
  null: 'null',
};

const SIZES: Readonly<Record<string, string>> = {
  string: 'characters',
  array: 'items',
  set: 'items',
  map: 'entries',
  object: 'entries',
};

/** Such as `default.ttft_ms: expected a number`; of several faults each, with `; ` between them. */
export function explainZod({ issues }: z.ZodError): string {
  const all = issues.map((issue) => explainIssue(issue));
  const more = all.length > SHOWN ? [`and ${all.length - SHOWN} more`] : [];
  return [...all.slice(0, SHOWN), ...more].join('; ');
}

/** @param above where the data is that `issue` is of */
export function explainIssue(issue: Issue, above: readonly PropertyKey[] = []): string {
  const path = [...above, ...issue.path].map(String).join('.');
  return path === '' ? expectation(issue) : `${path}: ${expectation(issue)}`;
}

function expectation(issue: Issue): string {
  // A schema's own words go first.
  if (!/^(Invalid|Too (small|big)|Unrecognized)\b/.test(issue.message)) return issue.message;
  const isMissing = issue.message.endsWith('received undefined');
  return isMissing ? `${described(issue)}, which is missing` : described(issue);
}

function described(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `expected ${TYPES[issue.expected] ?? issue.expected}`;
    case 'too_small': {
      const least = issue.inclusive === true ? 'at least' : 'more than';
      return `expected ${least} ${amount(issue.minimum, issue.origin)}`;
    }
    case 'too_big': {
      const most = issue.inclusive === true ? 'at most' : 'less than';
      return `expected ${most} ${amount(issue.maximum, issue.origin)}`;
    }
    case 'not_multiple_of':
      return `expected a multiple of ${issue.divisor}`;
    case 'invalid_format':
      return `expected a text in the form of ${issue.format === 'regex' ? issue.pattern : issue.format}`;
    case 'invalid_value':
      return `expected ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`;
    case 'unrecognized_keys':
      return `there is no ${issue.keys.map((key) => `\`${key}\``).join(', ')}`;
    case 'invalid_union': {
      const ways = issue.errors.map((errors) =>
        errors.map((each) => explainIssue(each)).join(', '),
      );
      return ways.length === 0 ? 'expected another value' : [...new Set(ways)].join(', or ');
    }
    case 'invalid_key':
    case 'invalid_element':
      return issue.issues.map((each) => explainIssue(each)).join(', ');
    case 'custom':
      return 'expected another value';
  }
}

function amount(limit: number | bigint, origin: string): string {
  const unit = SIZES[origin];
  if (unit === undefined) return String(limit);
  return `${limit} ${Number(limit) === 1 ? unit.replace(/s$/, '').replace(/ie$/, 'y') : unit}`;
}
