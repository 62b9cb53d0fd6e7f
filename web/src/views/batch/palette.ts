/** Colors of the canvas, from the style sheet: they follow the theme. */
import { type Mark, MARKS } from './marks.ts';

export const INKS = [
  'surface',
  'lane',
  'line',
  'text',
  'step',
  'predicted',
  'lost',
  'cursor',
] as const;
export type Ink = (typeof INKS)[number];

export interface Palette {
  readonly marks: Readonly<Record<Mark, string>>;
  readonly inks: Readonly<Record<Ink, string>>;
  /** Equal for equal palettes. */
  readonly key: string;
}

/** @param element whose custom properties `--batch-NAME` they are, as `color` has them */
export function readPalette(element: HTMLElement): Palette {
  const probe = document.createElement('span');
  // Else a change of color is under way, however short, when it is read.
  probe.style.transitionProperty = 'none';
  element.append(probe);
  const colorOf = (name: string) => {
    probe.style.color = `var(--batch-${name})`;
    // The computed color has no `light-dark()` in it, which a canvas would not know.
    return getComputedStyle(probe).color;
  };
  const marks = Object.fromEntries(MARKS.map((name) => [name, colorOf(name)]));
  const inks = Object.fromEntries(INKS.map((name) => [name, colorOf(name)]));
  probe.remove();
  return {
    marks: marks as Palette['marks'],
    inks: inks as Palette['inks'],
    key: JSON.stringify([marks, inks]),
  };
}
