/** Logs on stderr, so that stdout stays free for output: JSON by the line, or text for people. */
import { destination, pino, type Logger } from 'pino';
import { textLogLine } from './text-log.ts';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export const LOG_FORMATS = ['auto', 'json', 'text'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];
export type LogFormat = (typeof LOG_FORMATS)[number];

/**
 * A logger that writes whole lines at once and drops nothing when the process exits.
 * @param format `auto` is text on a terminal, and JSON anywhere else
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
