/** Reads the calls of a layout, as they come. */
import {
  type NamedCall,
  type ObjectCall,
  type ParameterCall,
  type ParameterKind,
  parameterKind,
  type ToolCallLayout,
} from '../../grammar/tool-call-layout.ts';
import { JsonBoundError, parseBoundedJson } from '../json-bounds.ts';
import { CallObject } from './call-object.ts';
import { type Characters, NO_CALL, type Steps } from './characters.ts';
import { JsonScanner } from './json-scanner.ts';
import { inJsonString, PYTHON_WORDS, readLiteral } from './literal-reader.ts';

/** Hears of calls as they are read. */
export interface CallSink {
  /** Whether there may be a call of such a name. */
  isCallable(name: string): boolean;
  /** A call begins. */
  name(name: string): void;
  /** A piece of its arguments' JSON. */
  arguments(json: string): void;
  /** The call is whole. */
  done(): void;
  /** All calls are, and the text may end. */
  ended(): void;
  /** JSON Schema of the tool's arguments; undefined if it is not known. */
  parametersOf(name: string): unknown;
}

/**
 * Reads what follows `open`: the calls, and the end.
 * @throws NoCallError where the text is none of the layout's
 */
export function* readCalls(
  layout: ToolCallLayout,
  characters: Characters,
  sink: CallSink,
): Steps<void> {
  const end = layout.end.trim();
  const tail = layout.tail.trim();
  yield* characters.pass(layout.begin);
  yield* characters.pass(openOf(layout));
  for (;;) {
    yield* readCall(layout, characters, sink);
    sink.done();
    if (layout.call.kind === 'named') yield* characters.pass(layout.call.close);
    if (layout.repeats !== 'calls') {
      yield* characters.pass(end);
      break;
    }
    if (yield* isAtEnd(layout, characters, end)) break;
  }
  sink.ended();
  if (tail !== '' && (yield* isNext(characters, tail))) yield* characters.pass(tail);
}

/** Passes over the end, or what comes before the next call. */
function* isAtEnd(layout: ToolCallLayout, characters: Characters, end: string): Steps<boolean> {
  const open = openOf(layout).trim();
  const separator = layout.separator.trim();
  if (separator === '' && open === '') {
    if (!(yield* isNext(characters, end))) return false;
    yield* characters.pass(end);
    return true;
  }
  const next = separator === '' ? open : separator;
  const isEnd = (yield* characters.passOne(end === '' ? [next] : [next, end])) === end;
  if (!isEnd && separator !== '') yield* characters.pass(open);
  return isEnd;
}

function openOf({ call }: ToolCallLayout): string {
  return call.kind === 'object' ? '' : call.open;
}

/** Whether `text` may come next: by its first character, which stays to be taken. */
function* isNext(characters: Characters, text: string): Steps<boolean> {
  const character = yield* characters.takeSolid();
  characters.putBack(character);
  return character === text[0];
}

function readCall({ call }: ToolCallLayout, characters: Characters, sink: CallSink): Steps<void> {
  switch (call.kind) {
    case 'object':
      return readObjectCall(call, characters, sink);
    case 'named':
      return readNamedCall(call, characters, sink);
    case 'parameters':
      return readParameterCall(call, characters, sink);
  }
}

function* readObjectCall(call: ObjectCall, characters: Characters, sink: CallSink): Steps<void> {
  const object = new CallObject(call.nameKey, (name) => sink.isCallable(name));
  characters.putBack(yield* characters.takeSolid());
  for (;;) {
    const character = yield* characters.take();
    const progress = object.push(character);
    if (progress.state === 'bad') {
      characters.putBack(character);
      throw NO_CALL;
    }
    if (progress.name !== undefined) sink.name(progress.name);
    if (progress.arguments !== '') sink.arguments(progress.arguments);
    if (progress.state === 'done') return;
  }
}

function* readNamedCall(call: NamedCall, characters: Characters, sink: CallSink): Steps<void> {
  const after = call.afterName.trim();
  const ends = `{${after[0] ?? ''}`;
  const name = yield* characters.name(`${ends}${call.number?.[0] ?? ''} \n\t\r`);
  // The number may be left out.
  if (call.number !== null && !(yield* isNext(characters, '{'))) {
    const isNumber = (yield* characters.passOne([call.number, after])) === call.number;
    if (isNumber) yield* characters.name(ends);
  }
  // Models leave out what comes before the arguments at times.
  if (!(yield* isNext(characters, '{'))) yield* characters.pass(after);
  if (!(yield* isNext(characters, '{'))) throw NO_CALL;
  if (!sink.isCallable(name)) throw NO_CALL;
  sink.name(name);
  const scanner = new JsonScanner();
  while (!scanner.isDone) {
    const character = yield* characters.take();
    if (!scanner.push(character)) {
      characters.putBack(character);
      throw NO_CALL;
    }
    sink.arguments(character);
  }
}

function* readParameterCall(
  call: ParameterCall,
  characters: Characters,
  sink: CallSink,
): Steps<void> {
  const close = call.close.trim();
  const open = call.key.open.trim();
  const keyEnd = call.key.end.trim();
  const after = call.afterName.trim();
  const name = yield* characters.name(`${after[0] ?? open[0] ?? ''} \n\t\r`);
  yield* characters.pass(after);
  if (!sink.isCallable(name)) throw NO_CALL;
  sink.name(name);
  const parameters = sink.parametersOf(name);
  sink.arguments('{');
  for (let count = 0; ; count++) {
    if (count > 0 && call.separator.trim() !== '' && !(yield* isNext(characters, close))) {
      yield* characters.pass(call.separator);
    }
    if (open === '') {
      if (yield* isNext(characters, close)) {
        yield* characters.pass(close);
        break;
      }
    } else if ((yield* characters.passOne([open, close])) === close) break;
    const key = yield* characters.name(keyEnd[0] ?? '');
    yield* characters.pass(keyEnd);
    sink.arguments(`${count === 0 ? '' : ', '}${JSON.stringify(key)}: `);
    const { type } = call.key;
    const isText = type && (yield* characters.passOne([type.text, type.json])) === type.text;
    const told = isText === undefined ? null : isText ? 'text' : 'json';
    yield* readValue(call, characters, sink, told ?? parameterKind(parameters, key));
  }
  sink.arguments('}');
}

function* readValue(
  { value }: ParameterCall,
  characters: Characters,
  sink: CallSink,
  kind: ParameterKind,
): Steps<void> {
  if (value.kind === 'literal') {
    yield* readLiteral(characters, value.quote, (json) => sink.arguments(json));
    return;
  }
  const { padding } = value;
  const first = yield* characters.take();
  if (padding === '' || first !== padding) characters.putBack(first);
  const isText = kind === 'text';
  let whole = '';
  /** White space that may be padding. */
  let held = '';
  if (isText) sink.arguments('"');
  yield* characters.until(value.close.trim(), (text) => {
    const given = held + text;
    held = padding !== '' && given.endsWith(padding) ? padding : '';
    const sure = given.slice(0, given.length - held.length);
    if (isText) sink.arguments(inJsonString(sure));
    else whole += sure;
  });
  sink.arguments(isText ? '"' : rawValue(whole, kind));
}

/** A value that is no JSON is a string. */
function rawValue(text: string, kind: ParameterKind): string {
  const trimmed = text.trim();
  const word = kind === 'json' ? PYTHON_WORDS.get(trimmed) : undefined;
  if (word !== undefined) return word;
  try {
    parseBoundedJson(trimmed);
    return trimmed;
  } catch (error) {
    if (!(error instanceof JsonBoundError || error instanceof SyntaxError)) throw error;
    return `"${inJsonString(text)}"`;
  }
}
