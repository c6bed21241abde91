"""Model servers, whichever API they speak: who answers, who rests, what went wrong."""
