/* The begin of a recording: the first interposed function that is called in the process starts it. */
#include "recorder.h"

bool recording(void) {
    if (stream_is_asked())
        return is_recording();
    lock();
    if (!stream_is_asked()) {
        hash_init();
        stream_open(memory_after_fork);
        if (is_recording())
            faults_init();
    }
    unlock();
    return is_recording();
}
