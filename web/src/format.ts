/** Numbers for people: as many digits as count, and the unit that fits. */

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** Such as `1.5 GiB`. */
export function formatBytes(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${formatNumber(bytes / 1024 ** power)} ${UNITS[power]}`;
}

/** Such as `0.31 ms`, `24 ms` and `1.2 s`. */
export function formatMs(ms: number): string {
  if (ms >= 60_000) return formatDuration(ms);
  return ms >= 1000 ? `${formatNumber(ms / 1000)} s` : `${formatNumber(ms)} ms`;
}

/** Such as `45 s`, `12 min` and `3 h 5 min`. */
export function formatDuration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} days`;
}

/** Two digits that count below 10, whole numbers from 100 on, with thousands apart. */
export function formatNumber(value: number): string {
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString('en-US');
  if (size >= 10) return trimmed(value.toFixed(1));
  return size >= 1 ? trimmed(value.toFixed(2)) : trimmed(value.toPrecision(2));
}

/** Such as `82%`. */
export function formatShare(share: number): string {
  const percent = share * 100;
  return `${percent > 0 && percent < 10 ? percent.toFixed(1) : Math.round(percent)}%`;
}

/** Such as `14:05`. */
export function formatTime(timeMs: number): string {
  return new Date(timeMs).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
}

/** `1.50` is `1.5`, and `2.0` is `2`. */
function trimmed(text: string): string {
  return text.includes('.') && !text.includes('e') ? text.replace(/\.?0+$/, '') : text;
}
