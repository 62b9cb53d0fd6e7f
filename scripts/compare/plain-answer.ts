/** Answers without what is another one each time: ids, times, and where a stream was cut into pieces. */

/** Fields whose values are made anew for each answer, or measured. */
const FRESH =
  /"(id|request_id|item_id|response_id|call_id|tool_use_id|encrypted_content|created|created_at|completed_at|[a-z_]*duration|[a-z_]*_ms|obfuscation)":("(?:[^"\\]|\\.)*"|-?[\d.e+-]+)/g;

/** Numbers of floats, whose last digits depend on how many tokens a step has computed together. */
const FLOAT = /-?\d+\.\d{5,}(?:e-?\d+)?/g;

/** Text that grows from event to event. */
const GROWING =
  /"(content|text|delta|response|text_output|partial_json|arguments)":"((?:[^"\\]|\\.)*)"/g;

/** @param text a body, of JSON or of events or lines */
export function plainAnswer(text: string): string {
  const lines = text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith(': ') && !line.startsWith('id: '))
    .map((line) => line.replaceAll(FRESH, '"$1":_'))
    .map((line) => line.replaceAll(FLOAT, (float) => Number(float).toFixed(1)));
  return lines.length === 1 ? (lines[0] ?? '') : joined(lines).join('\n');
}

/** Forms of the events, and the text of each choice: tokens that wait for a client come together. */
function joined(lines: readonly string[]): string[] {
  const forms = new Set<string>();
  const texts = new Map<string, string>();
  for (const line of lines) {
    const [, choice = '0'] = /"(?:index|output_index)":(\d+)/.exec(line) ?? [];
    const plain = line.replaceAll(/"sequence_number":\d+/g, '"sequence_number":_');
    const form = plain.replaceAll(GROWING, (_, name: string, grown: string) => {
      texts.set(choice, (texts.get(choice) ?? '') + grown);
      return `"${name}":*`;
    });
    forms.add(form);
  }
  return [
    ...[...forms].toSorted(),
    ...[...texts].toSorted(([a], [b]) => (a < b ? -1 : 1)).map((each) => each.join(': ')),
  ];
}
