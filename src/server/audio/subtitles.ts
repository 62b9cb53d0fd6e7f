/** Segments as subtitles. */
import type { Segment } from '../../front/transcription/transcribe.ts';

/** SubRip. */
export function toSrt(segments: readonly Segment[]): string {
  return segments
    .map(({ start, end, text }, index) => {
      const times = `${clock(start, true, ',')} --> ${clock(end, true, ',')}`;
      return `${index + 1}\n${times}\n${line(text)}\n\n`;
    })
    .join('');
}

/** WebVTT. */
export function toVtt(segments: readonly Segment[]): string {
  const cues = segments.map(({ start, end, text }) => {
    return `${clock(start, false, '.')} --> ${clock(end, false, '.')}\n${line(text)}\n\n`;
  });
  return `WEBVTT\n\n${cues.join('')}`;
}

/** An empty line, or an arrow, would end a text. */
function line(text: string): string {
  return text
    .trim()
    .replaceAll('-->', '->')
    .replaceAll(/\s*\n\s*/g, ' ');
}

/** @param hasHours although there are none */
function clock(seconds: number, hasHours: boolean, point: string): string {
  const ms = Math.round(seconds * 1000);
  const parts = [Math.floor(ms / 60_000) % 60, Math.floor(ms / 1000) % 60];
  const hours = Math.floor(ms / 3_600_000);
  if (hours > 0 || hasHours) parts.unshift(hours);
  const written = parts.map((part) => String(part).padStart(2, '0')).join(':');
  return `${written}${point}${String(ms % 1000).padStart(3, '0')}`;
}
