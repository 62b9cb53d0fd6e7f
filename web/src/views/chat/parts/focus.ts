/** Where the focus goes when what had it is gone. */

/** To where one writes; not on phones, which would open their keyboard. */
export function focusComposer(): void {
  if (!matchMedia('(pointer: fine)').matches) return;
  document.querySelector<HTMLElement>('.composer textarea')?.focus();
}
