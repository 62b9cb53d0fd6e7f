/** Dates as Python's `strftime` writes them, in English. */

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = [
  ...['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September'],
  ...['October', 'November', 'December'],
];
const SHORT = 3;
const MS_PER_DAY = 86_400_000;

const padded = (number: number, digits = 2): string => String(number).padStart(digits, '0');
const hourOf = (date: Date): number => date.getHours() % 12 || 12;
const dayOfYear = (date: Date): number => {
  const [year, month, day] = [date.getFullYear(), date.getMonth(), date.getDate()];
  return (Date.UTC(year, month, day) - Date.UTC(year, 0, 0)) / MS_PER_DAY;
};

const FIELDS: Readonly<Record<string, (date: Date) => string>> = {
  Y: (date) => padded(date.getFullYear(), 4),
  y: (date) => padded(date.getFullYear() % 100),
  m: (date) => padded(date.getMonth() + 1),
  B: (date) => MONTHS[date.getMonth()] ?? '',
  b: (date) => (MONTHS[date.getMonth()] ?? '').slice(0, SHORT),
  d: (date) => padded(date.getDate()),
  j: (date) => padded(dayOfYear(date), 3),
  A: (date) => DAYS[date.getDay()] ?? '',
  a: (date) => (DAYS[date.getDay()] ?? '').slice(0, SHORT),
  H: (date) => padded(date.getHours()),
  I: (date) => padded(hourOf(date)),
  p: (date) => (date.getHours() < 12 ? 'AM' : 'PM'),
  M: (date) => padded(date.getMinutes()),
  S: (date) => padded(date.getSeconds()),
  '%': () => '%',
};

/** @param format with `%-d` for a number without zeros before it; what is not known stays as it is */
export function strftime(date: Date, format: string): string {
  return format.replaceAll(/%(-?)(.)/gs, (field, dash: string, letter: string) => {
    const text = FIELDS[letter]?.(date);
    if (text === undefined) return field;
    return dash === '' ? text : text.replace(/^0+(?=\d)/, '');
  });
}
