/** @param accepted the header `accept-encoding` */
export function takesGzip(accepted = ''): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(accepted);
}
