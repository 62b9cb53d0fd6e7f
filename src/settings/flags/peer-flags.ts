/** Flags as vLLM and llama-server call them, on the command line and in configuration files. */
import { UsageError } from '../usage-error.ts';
import { type FlagSpec, isSwitch, nameOf } from './flag-spec.ts';
import { badValue, type Place } from './flag-value.ts';
import { NEEDLESS, type NeedlessFlag } from './peer-needless.ts';
import { OTHERS } from './peer-others.ts';
import { SAME } from './peer-same.ts';

/** A flag of a peer's: it means one of ours, or nothing is needed here. */
export type PeerKey =
  | { readonly kind: 'same'; readonly key: string; readonly texts: readonly string[] }
  | { readonly kind: 'needless' };

/**
 * A key of a configuration file.
 * @returns null for one that no peer has
 * @throws UsageError for one that means something else here
 */
export function peerKey(file: string, key: string, texts: readonly string[]): PeerKey | null {
  const flag = `--${key}`;
  const place: Place = { source: 'config file', file, key };
  const same = SAME.get(flag);
  if (same !== undefined) {
    const { to, text } = same;
    const translated = text === undefined ? texts : texts.map((each) => text(each, place));
    return { kind: 'same', key: to, texts: same.fixed === undefined ? translated : [same.fixed] };
  }
  return needlessFlag(flag, texts[0], place) === null ? null : { kind: 'needless' };
}

/**
 * A command line in our words.
 * @param specs flags of the command
 * @throws UsageError for a flag that means something else here
 */
export function translatePeerFlags(
  args: readonly string[],
  specs: readonly FlagSpec[],
): { readonly args: readonly string[]; readonly notes: readonly string[] } {
  const own = new Map<string, FlagSpec>();
  for (const spec of specs) {
    own.set(`--${nameOf(spec)}`, spec);
    if (isSwitch(spec)) own.set(`--no-${nameOf(spec)}`, spec);
    if (spec.short !== undefined) own.set(`-${spec.short}`, spec);
  }
  const loadsModels = specs.some((spec) => nameOf(spec) === 'model' && spec.scope === undefined);
  const translated: string[] = [];
  const needless = new Map<string, string>();
  const left = [...args];
  for (let arg = left.shift(); arg !== undefined; arg = left.shift()) {
    if (arg === '--') {
      translated.push(arg, ...left.splice(0));
      continue;
    }
    const { flag, inline } = split(arg);
    const takeValue = () => inline ?? left.shift();
    const spec = own.get(flag);
    const same = SAME.get(flag);
    const target = same && own.get(`--${same.to}`);
    if (spec !== undefined) {
      translated.push(inline === undefined ? flag : `${flag}=${inline}`);
      if (inline === undefined && !isSwitch(spec) && left.length > 0)
        translated.push(left.shift() ?? '');
    } else if (same !== undefined && target !== undefined) {
      const isOff = isSwitch(target) || same.fixed !== undefined;
      const value = isOff ? (same.fixed ?? inline) : takeValue();
      if (value === undefined && !isSwitch(target)) throw new UsageError(`${flag} needs a value`);
      const text =
        value === undefined || same.text === undefined
          ? value
          : same.text(value, { source: 'flag', flag });
      translated.push(text === undefined ? `--${same.to}` : `--${same.to}=${text}`);
    } else if (loadsModels) {
      const [next] = left;
      const { takes = false, note } =
        needlessFlag(flag, inline ?? next, { source: 'flag', flag }) ?? {};
      if (note === undefined) {
        translated.push(arg);
        continue;
      }
      const isValue = takes === true || (takes !== false && next !== undefined && takes.test(next));
      if (inline === undefined && isValue) left.shift();
      needless.set(flag, note);
    } else {
      translated.push(arg);
    }
  }
  const list = [...needless].map(([flag, note]) => (note === '' ? flag : `${flag} (${note})`));
  return {
    args: translated,
    notes: list.length === 0 ? [] : [`not needed here, and left out: ${list.join(', ')}`],
  };
}

/**
 * @returns null for one that no peer has
 * @throws UsageError for one that means something else here
 */
function needlessFlag(flag: string, value: string | undefined, place: Place): NeedlessFlag | null {
  const other = OTHERS.get(flag);
  if (other === undefined) return NEEDLESS.get(flag) ?? null;
  const isHarmless = value !== undefined && other.except?.includes(value) === true;
  if (isHarmless) return { note: '', takes: true };
  throw badValue(null, place, other.answer);
}

/** Names may have underscores, as in Python. */
function split(arg: string): { readonly flag: string; readonly inline?: string } {
  const [, name = '', inline] = /^(--[^=]+)(?:=(.*))?$/s.exec(arg) ?? [];
  if (name === '') return { flag: arg };
  const flag = name.replaceAll('_', '-');
  return inline === undefined ? { flag } : { flag, inline };
}
