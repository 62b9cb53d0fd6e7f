let isShown = false;

/** Progress of builds and downloads goes to stderr from now on. Without it a program's stderr is its own. */
export function showProgress(): void {
  isShown = true;
}

export function progressIsShown(): boolean {
  return isShown;
}
