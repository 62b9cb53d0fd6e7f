/**
 * How much a model should think, in its template's own words: templates call the variable differently,
 * and know different levels of it.
 */

/** Whether at all, or how hard; null leaves it to the template. */
export type Thinking = boolean | string | null;

/** Variables that say whether to think. */
const SWITCHES = [
  // Qwen3, GLM-4.5, SmolLM3, Hunyuan, EXAONE 4, Nemotron, Gemma 4
  'enable_thinking',
  // DeepSeek V3.1, Granite 3, Kimi K2
  'thinking',
  // Command A
  'reasoning',
];
/** The variable that says how hard to think. */
const EFFORT = 'reasoning_effort';
/** From nothing on. */
const LEVELS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
/** Templates of gpt-oss spell but the default one of these. */
const USUAL_LEVELS = ['low', 'medium', 'high'];

/** A level as APIs name it; `none` is not to think. */
export function thinkingOf(effort: string | null | undefined): Thinking {
  return effort === 'none' ? false : (effort ?? null);
}

export class ThinkingVariables {
  readonly #switches: readonly string[];
  /** Levels that the template knows, ascending; null where it has no variable for them. */
  readonly #levels: readonly string[] | null;
  readonly #template: string;

  /** @param template a Jinja text */
  constructor(template: string) {
    this.#template = template;
    const code = (template.match(/\{[{%][\s\S]*?[%}]\}/g) ?? []).join('\n');
    const names = new Set(code.replace(/'[^'\n]*'|"[^"\n]*"/g, "''").match(/(?<![.\w])\w+/g));
    this.#switches = SWITCHES.filter((name) => names.has(name));
    const spelled = LEVELS.filter((level) => this.#spells(level));
    this.#levels = !names.has(EFFORT) ? null : spelled.length > 1 ? spelled : USUAL_LEVELS;
  }

  /** @returns variables that the template reads; none where it leaves no choice */
  of(thinking: Thinking): Readonly<Record<string, unknown>> {
    if (thinking === null) return {};
    const isOn = thinking !== false;
    const switches = this.#switches.map((name) => [name, isOn] as const);
    const level = this.#levelOf(thinking);
    return { ...Object.fromEntries(switches), ...(level === null ? {} : { [EFFORT]: level }) };
  }

  /** The nearest one that the template knows, the lower of two; null for its default. */
  #levelOf(thinking: boolean | string): string | null {
    if (this.#levels === null || thinking === true) return null;
    const asked = thinking === false ? 'none' : thinking;
    const place = LEVELS.indexOf(asked);
    // A level of the template's own.
    if (place === -1) return asked;
    // Where a switch turns it off the level says nothing.
    if (asked === 'none' && this.#switches.length > 0 && !this.#levels.includes(asked)) return null;
    const distance = (level: string) => Math.abs(LEVELS.indexOf(level) - place);
    return this.#levels.toSorted((a, b) => distance(a) - distance(b))[0] ?? null;
  }

  #spells(level: string): boolean {
    return this.#template.includes(`'${level}'`) || this.#template.includes(`"${level}"`);
  }
}
