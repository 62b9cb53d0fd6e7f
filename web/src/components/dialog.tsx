import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Icon } from './icon.tsx';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly isWide?: boolean;
}

/** A modal window. The browser's own, so focus stays inside and Escape closes it. */
export function Dialog({ title, onClose, children, isWide = false }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  const closed = useRef(onClose);
  closed.current = onClose;
  useEffect(() => {
    const { current: dialog } = element;
    const tell = () => closed.current();
    dialog?.addEventListener('close', tell);
    dialog?.showModal();
    return () => {
      dialog?.removeEventListener('close', tell);
      // So that the focus goes back to where it came from: out of one that is taken away, it is lost.
      dialog?.close();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={isWide ? 'dialog wide' : 'dialog'}
      aria-labelledby={titleId}
      onClick={(event) => {
        // The window itself is only hit outside of its content.
        if (event.target === element.current) onClose();
      }}
    >
      <div class="dialog-content">
        <header>
          <h2 id={titleId}>{title}</h2>
          <button type="button" class="quiet" onClick={onClose} aria-label="Close">
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
