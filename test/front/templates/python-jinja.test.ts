/** Jinja's filters and Python's methods that templates may use, as Transformers 5.19 renders them. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { PythonJinja } from '../../../src/front/templates/python-jinja.ts';

const VARIABLES = {
  l: [1, 2, 3],
  ss: ['a', 'b', 'aa'],
  ds: [
    { a: 1, b: 'p', n: { k: 7 } },
    { a: 2, b: 'q', c: 3, n: { k: 8 } },
    { a: 1, b: 'r', n: { k: 9 } },
  ],
  d: { x: 1, y: 'two' },
};

beforeEach(() => void vi.useFakeTimers({ now: new Date(2026, 0, 2, 12), toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

test.each([
  // Llama 3.1 to 3.3 tell their built-in tools so.
  ["{{ l | reject('equalto', 2) | list }}", '[1, 3]'],
  ["{{ l | select('equalto', 2) | list }}", '[2]'],
  ["{{ l | select('odd') | list }}|{{ l | reject('odd') | list }}", '[1, 3]|[2]'],
  ["{{ l | select('gt', 1) | list }}{{ l | select('in', [1]) | list }}", '[2, 3][1]'],
  ["{{ ds | selectattr('a', 'equalto', 1) | map(attribute='b') | list }}", "['p', 'r']"],
  ["{{ ds | rejectattr('a', 'equalto', 1) | map(attribute='b') | join(',') }}", 'q'],
  ["{{ ds | selectattr('c', 'defined') | list | length }}", '1'],
  ["{{ ds | selectattr('n', 'equalto', {'k': 8}) | map(attribute='b') | first }}", 'q'],
  ["{{ ds | map(attribute='c', default='z') | join(',') }}", 'z,3,z'],
  ["{{ ds | map(attribute='n.k') | list }}", '[7, 8, 9]'],
  [
    "{{ ss | map('upper') | join(' ') }}|{{ ss | map('replace', 'a', 'b') | list }}",
    "A B AA|['b', 'b', 'bb']",
  ],
  ["{{ l | sum }}|{{ ds | sum(attribute='a') }}|{{ l | count }}", '6|4|3'],
  ['{{ [] | first }}|{{ [] | last }}|{{ l | last }}', '||3'],
  ["{{ ds | join(';', attribute='a') }}|{{ [1, none, true] | join('-') }}", '1;2;1|1-None-True'],
  ["{{ d | list }}|{{ d | join(',') }}", "['x', 'y']|x,y"],
  [
    "{{ 'hELLO' | capitalize }}|{{ 'xxa' | trim('x') }}|{{ '' | d('y', boolean=true) }}",
    'Hello|a|y',
  ],
  ['{{ \', \'.join(ss) }}|{{ "a\\nb\\n\\nc\\n".splitlines() }}', "a, b, aa|['a', 'b', '', 'c']"],
  ["{{ 'a=b=c'.partition('=')[2] }}|{{ 'abc'.partition('=')[1] }}", 'b=c|'],
  [
    "{{ 'hello'.find('l') }}{{ 'hello'.rfind('l') }}{{ 'hello'.find('z') }}{{ 'hello'.count('l') }}",
    '23-12',
  ],
  [
    "{{ '12'.isdigit() }}{{ 'ab'.isalpha() }}{{ 'a1'.isalnum() }}{{ ''.isdigit() }}",
    'TrueTrueTrueFalse',
  ],
  [
    "{{ strftime_now('%Y-%m-%d %H %B %b %A %a %d %-d %j %p %I %M %S %y') }}",
    '2026-01-02 12 January Jan Friday Fri 02 2 002 PM 12 00 00 26',
  ],
])('%s', (template, expected) => {
  expect(new PythonJinja(template).render(VARIABLES)).toBe(expected);
});

test('a test that there is not is named', () => {
  expect(() => new PythonJinja("{{ l | select('shiny') | list }}").render(VARIABLES)).toThrow(
    "there is no test 'shiny'",
  );
});
