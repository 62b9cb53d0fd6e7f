/** Such as `1.5 GiB`, or `300 MiB`. */
export function formatBytes(bytes: number): string {
  return bytes >= 2 ** 30
    ? `${(bytes / 2 ** 30).toFixed(1)} GiB`
    : `${Math.ceil(bytes / 2 ** 20)} MiB`;
}
