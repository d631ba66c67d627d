/* Faults that the lab plants in its MPI programs: LAB_FAULT=kind, LAB_RANK=rank, LAB_STEP=step choose what breaks, where, when.
 *
 * Each is the mechanism of a real bug, not a raise(): a pointer that nobody set, a division by an empty tile, a mapped file cut short.
 */
#ifndef LAB_FAULTS_H
#define LAB_FAULTS_H

#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *fault_kind(void) { return getenv("LAB_FAULT") ? getenv("LAB_FAULT") : "none"; }

static int fault_number(const char *name, int otherwise) { return getenv(name) ? atoi(getenv(name)) : otherwise; }

/* Whether the fault KIND strikes this rank in this step. */
static int fault_is(const char *kind, int rank, int step) {
    return !strcmp(fault_kind(), kind) && rank == fault_number("LAB_RANK", 1) && step == fault_number("LAB_STEP", 60);
}

void sum_of_halo(const double *halo, int cells) {
    volatile double sum = 0;
    for (int i = 0; i < cells; i++) sum += halo[i];
}

void cells_of_a_tile(int cells, volatile int tiles) {
    volatile int share = cells / tiles;
    (void)share;
}

void read_of_a_shrunk_file(void) {
    char name[] = "field-XXXXXX";
    int file = mkstemp(name);
    unlink(name);
    if (ftruncate(file, 1 << 16)) return;
    volatile char *page = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (ftruncate(file, 0)) return;
    page[1 << 12] = 1;
}

void buffer_freed_twice(void) {
    char *volatile buffer = malloc(64);
    free(buffer);
    free(buffer);
}

void memory_without_end(void) {
    for (;;) {
        char *block = malloc(1 << 22);
        if (!block) { fprintf(stderr, "heat: cannot allocate 4194304 bytes for the next level\n"); exit(12); }
        memset(block, 1, 1 << 22);
    }
}

/* What a rank does to itself; what needs a partner (truncation, deadlock ...) is in the programs. */
void fault_strikes(int rank, int step) {
    if (fault_is("segv", rank, step)) sum_of_halo((const double *)0x10, 64);
    if (fault_is("fpe", rank, step)) cells_of_a_tile(4096, 0);
    if (fault_is("bus", rank, step)) read_of_a_shrunk_file();
    if (fault_is("abort", rank, step)) buffer_freed_twice();
    if (fault_is("memory", rank, step)) memory_without_end();
    if (fault_is("kill", rank, step)) raise(SIGKILL);
    if (fault_is("term", rank, step)) raise(SIGTERM);
    if (fault_is("stop", rank, step)) raise(SIGSTOP);
    if (fault_is("exit", rank, step)) exit(fault_number("LAB_CODE", 1));
    if (fault_is("leave", rank, step)) _exit(0);
    if (fault_is("mpi_abort", rank, step)) {
        fprintf(stderr, "rank %d: residual is not finite at step %d, giving up\n", rank, step);
        MPI_Abort(MPI_COMM_WORLD, fault_number("LAB_CODE", 1));
    }
}

#endif
