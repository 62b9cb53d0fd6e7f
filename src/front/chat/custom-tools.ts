/** Custom tools, which take a text and not JSON: models know them as functions of one text. */
import { TEXT_ARGUMENT, type TextGrammar } from '../../grammar/grammar-source.ts';
import { parseBoundedJson } from '../json-bounds.ts';
import type { ChatTool } from './chat-request.ts';

export interface CustomTool {
  /** The name that the model calls it by. */
  readonly name: string;
  readonly description: string;
  /** Null where any text will do. */
  readonly grammar: TextGrammar | null;
}

/** The tool as templates show it. */
export function asFunction({ name, description, grammar }: CustomTool): ChatTool {
  const texts = [description];
  if (grammar !== null) {
    texts.push(`The input follows this ${grammar.syntax} grammar:\n${grammar.definition}`);
  }
  const definition = {
    name,
    description: texts.filter((text) => text !== '').join('\n\n'),
    parameters: {
      type: 'object',
      properties: { [TEXT_ARGUMENT]: { type: 'string' } },
      required: [TEXT_ARGUMENT],
      additionalProperties: false,
    },
  };
  return { type: 'function', function: definition };
}

/** The arguments of a call, for a model. */
export function argumentsOfText(text: string): string {
  return JSON.stringify({ [TEXT_ARGUMENT]: text });
}

/** The text of a call; arguments that are cut short or of another form as they are. */
export function textOfArguments(json: string): string {
  try {
    const text: unknown = Object(parseBoundedJson(json))[TEXT_ARGUMENT];
    return typeof text === 'string' ? text : json;
  } catch {
    return json;
  }
}
