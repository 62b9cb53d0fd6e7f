/** Small values that this browser keeps. A browser may refuse to keep anything. */

const PREFIX = 'chairlift.';

export function readSetting(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

/** @param value null takes it away */
export function writeSetting(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // Then it is for this visit alone.
  }
}
