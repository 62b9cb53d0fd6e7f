/** Logs on stderr, so that stdout stays free for output: JSON by the line, or text for people. */
import { destination, pino, type Logger } from 'pino';
import type { LogFormat, LogLevel } from './log-levels.ts';
import { textLogLine } from './text-log.ts';

/**
 * A logger that writes whole lines at once and drops nothing when the process exits.
 * @param format `auto` is text on a terminal, and JSON otherwise
 */
export function createLogger(level: LogLevel, format: LogFormat = 'json'): Logger {
  const isTerminal = process.stderr.isTTY;
  const isText = format === 'text' || (format === 'auto' && isTerminal);
  const stderr = destination({ fd: 2, sync: true });
  const hasColors = isTerminal && process.env['NO_COLOR'] === undefined;
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    isText ? { write: (line) => stderr.write(textLogLine(line, hasColors)) } : stderr,
  );
}
